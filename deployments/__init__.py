"""The Ray Serve side: thin deployments around what ``reame`` decides."""

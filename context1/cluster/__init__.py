"""What runs on Kubernetes, from here: pipeline runs by KFP's API, and the images that they use."""

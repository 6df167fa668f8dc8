# a pipeline
pipeline: notes
stages:
  - name: writer

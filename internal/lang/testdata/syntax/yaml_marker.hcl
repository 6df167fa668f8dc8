---
stages: []

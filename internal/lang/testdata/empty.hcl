#! without base

locals { key = env("WRITER_KEY") }

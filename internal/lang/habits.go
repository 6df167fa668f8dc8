package lang

// habits answers words that other tools and other places have taught: where one
// stands that this language does not have, the nearest name would mislead. The
// key is the kind of block and the word, or the word alone for any block.
var habits = map[string]string{
	"count":       "Every stage runs once for each item, so there is nothing to count. Several answers to one item are\n    samples = 3\nand several visits at once\n    concurrency = 4",
	"for_each":    "Every stage runs for each item by itself. A stage that makes several items of one has\n    fan_out {\n      each = output.items\n      key  = each.id\n    }",
	"depends_on":  "What comes after what is said by routes alone:\n    route \"x\" {\n      from = stage.a\n      to   = stage.b\n    }",
	"lifecycle":   "Nothing is kept or replaced here: what was done is found again by its content. Remove the block.",
	"dynamic":     "Blocks are written out; none is made by a loop. What differs from item to item is an expression.",
	"provisioner": "A program is run by a stage:\n    plugin = plugin.exec\nwith plugin \"exec\" { source = \"builtin/exec\" } at the top.",
	"retries":     "Failures of the infrastructure are tried again by\n    retry { attempts = 4 }",
	"sensitive":   "Only variables are declared sensitive: variable \"key\" { sensitive = true }.",

	"stage prompt":      "The prompt stands in the stage's configuration:\n    config { template = file(\"prompts/x.md\") }",
	"stage template":    "The prompt stands in the stage's configuration:\n    config { template = file(\"prompts/x.md\") }",
	"stage model":       "The model belongs to a provider block, which the stage is lent:\n    provider = provider.x",
	"stage temperature": "It stands in the stage's configuration:\n    config { temperature = 0.3 }",
	"stage schema":      "The schema of what a stage gives stands in a block:\n    output { schema = \"schemas/x.json\" }",
	"stage next":        "Where an item goes is said by a route:\n    route \"x\" {\n      from = stage.a\n      to   = stage.b\n    }",
	"stage to":          "Where an item goes is said by a route:\n    route \"x\" {\n      from = stage.a\n      to   = stage.b\n    }",
	"stage name":        "A stage's name is its label: stage \"NAME\" { … }.",
	"stage command":     "A program is run by a stage of the plugin exec:\n    plugin = plugin.exec\n    config { command = [\"python3\", \"step.py\"] }",
	"stage run":         "A program is run by a stage of the plugin exec:\n    plugin = plugin.exec\n    config { command = [\"python3\", \"step.py\"] }",
	"stage when":        "Whether an item comes here is said by the route that leads here:\n    when {\n      if = item.x == \"y\"\n      to = stage.x\n    }",
	"stage if":          "Whether an item comes here is said by the route that leads here:\n    when {\n      if = item.x == \"y\"\n      to = stage.x\n    }",
	"provider api_key":  "What the provider's plugin takes stands in its configuration:\n    config { api_key = env(\"API_KEY\") }",
	"provider base_url": "What the provider's plugin takes stands in its configuration:\n    config { base_url = \"https://…\" }",
	"source path":       "The files are a list of patterns:\n    files = [\"data/*.jsonl\"]",
	"variable value":    "A variable's value is set from outside, by --var NAME=VALUE; what it is without that is its `default`. A fixed value belongs into\n    locals { name = … }",

	"top resource":  "A pipeline has no resources. A step is a stage, what it starts with a source:\n    stage \"x\" { plugin = plugin.prompt }\n    source \"x\" { files = [\"data/*.jsonl\"] }",
	"top module":    "There are no modules. All files *.pipeline.hcl beside pipeline.hcl are read as one pipeline with it.",
	"top import":    "There are no imports. All files *.pipeline.hcl beside pipeline.hcl are read as one pipeline with it.",
	"top include":   "There are no includes. All files *.pipeline.hcl beside pipeline.hcl are read as one pipeline with it.",
	"top data":      "What items start from is a source:\n    source \"x\" { files = [\"data/*.jsonl\"] }\nand other files are read by file, jsondecode and csvdecode.",
	"top input":     "What items start from is a source:\n    source \"x\" { files = [\"data/*.jsonl\"] }",
	"top output":    "What a pipeline gives is written by its gate:\n    gate \"x\" {\n      candidate = { record = item }\n      corpus \"jsonl\" { … }\n    }\nAn output block stands in a stage, and names its schema.",
	"top terraform": "The version that a pipeline needs stands in its pipeline block:\n    pipeline \"NAME\" { requires = \">= 0.1\" }",
	"top step":      "A step is called a stage here:\n    stage \"NAME\" { plugin = plugin.x }",
	"top task":      "A task is called a stage here:\n    stage \"NAME\" { plugin = plugin.x }",
	"top job":       "A job is called a stage here:\n    stage \"NAME\" { plugin = plugin.x }",
	"top node":      "A node is called a stage here:\n    stage \"NAME\" { plugin = plugin.x }",
	"top edge":      "An edge is called a route here:\n    route \"NAME\" {\n      from = stage.a\n      to   = stage.b\n    }",
	"top model":     "A model belongs to a provider:\n    provider \"NAME\" {\n      plugin = plugin.x\n      model  = \"MODEL\"\n    }",
	"top llm":       "A model belongs to a provider:\n    provider \"NAME\" {\n      plugin = plugin.x\n      model  = \"MODEL\"\n    }",
	"top prompt":    "A prompt stands in the configuration of a stage:\n    config { template = file(\"prompts/x.md\") }",
	"top corpus":    "A corpus stands in the gate that writes it:\n    gate \"x\" {\n      candidate = { record = item }\n      corpus \"jsonl\" { … }\n    }",
	"top check":     "Checks stand in the gate:\n    gate \"x\" {\n      check \"words\" { … }\n    }",
}

// habit is what to write instead of a word in a kind of block, "" where the
// word is no habit.
func habit(block, word string) string {
	if hint, ok := habits[block+" "+word]; ok {
		return hint
	}
	return habits[word]
}

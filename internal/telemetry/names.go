package telemetry

// Names of OpenTelemetry's conventions for generative AI. They are still in
// development and are renamed now and then, so they stand in this one file, with
// the version that they are of.
const (
	// SchemaURL is the version of the conventions that all of these follow.
	SchemaURL = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"

	operationName   = "gen_ai.operation.name"
	providerName    = "gen_ai.provider.name"
	workflowName    = "gen_ai.workflow.name"
	requestModel    = "gen_ai.request.model"
	requestSeed     = "gen_ai.request.seed"
	requestMax      = "gen_ai.request.max_tokens"
	requestTemp     = "gen_ai.request.temperature"
	requestTopP     = "gen_ai.request.top_p"
	responseModel   = "gen_ai.response.model"
	responseID      = "gen_ai.response.id"
	responseReasons = "gen_ai.response.finish_reasons"
	outputType      = "gen_ai.output.type"
	usageInput      = "gen_ai.usage.input_tokens"
	usageOutput     = "gen_ai.usage.output_tokens"
	usageCacheRead  = "gen_ai.usage.cache_read.input_tokens"
	usageCacheMade  = "gen_ai.usage.cache_creation.input_tokens"
	usageReasoning  = "gen_ai.usage.reasoning.output_tokens"
	tokenType       = "gen_ai.token.type"
	evaluation      = "gen_ai.evaluation.result"
	evaluationName  = "gen_ai.evaluation.name"
	evaluationLabel = "gen_ai.evaluation.score.label"
	evaluationValue = "gen_ai.evaluation.score.value"

	metricTokens    = "gen_ai.client.token.usage"
	metricDuration  = "gen_ai.client.operation.duration"
	metricWorkflow  = "gen_ai.workflow.duration"
	operationChat   = "chat"
	operationInvoke = "invoke_workflow"

	errorType     = "error.type"
	errorOther    = "_OTHER" // of an error without a name of its own
	serverAddress = "server.address"
	serverPort    = "server.port"
)

// Names of our own, for what the conventions have no word for.
const (
	scope = "github.com/penstock-run/penstock"

	runID        = "penstock.run.id"
	runExit      = "penstock.run.exit_code"
	runDry       = "penstock.run.dry"
	itemKey      = "penstock.item.key"
	itemBucket   = "penstock.item.bucket"
	itemSource   = "penstock.item.source"
	itemEnd      = "penstock.item.end"
	itemCodes    = "penstock.item.codes"
	visitStage   = "penstock.visit.stage"
	visitPlugin  = "penstock.visit.plugin"
	visitPass    = "penstock.visit.pass"
	visitSample  = "penstock.visit.sample"
	visitAttempt = "penstock.visit.attempt"
	visitOutcome = "penstock.visit.outcome"
	visitOrigin  = "penstock.visit.origin"
	callProvider = "penstock.completion.provider"
	callOrigin   = "penstock.completion.origin"
	callAttempt  = "penstock.completion.attempt"
	checkCode    = "penstock.check.code"

	metricItems       = "penstock.items"
	metricVisits      = "penstock.visits"
	metricCompletions = "penstock.completions"
	metricCalls       = "penstock.provider.calls"
	metricWait        = "penstock.completion.wait"
	metricCost        = "penstock.cost"
)

// What penstock.visit.origin and penstock.completion.origin say.
const (
	originExecuted = "executed" // by a plugin, now
	originStaging  = "staging"  // known from an earlier run, or from earlier in this one
	originShared   = "shared"   // another item's visit, under way at the time, was of the same action
)

// Bounds of the buckets, as the conventions want them; those of a run are ours,
// for it lasts from a second to days.
var (
	tokenBounds    = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	durationBounds = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	workflowBounds = []float64{1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21600, 86400}
)

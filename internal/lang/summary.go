package lang

// Summaries of diagnostics: constant words, so that a reader learns them by
// sight and a search for one leads here.
const (
	badCode              = "Bad failure code"
	badConfig            = "Configuration cannot be used"
	badConstraint        = "Bad version constraint"
	badDescription       = "Plugin with a bad description"
	badDuration          = "Bad duration"
	badName              = "Bad name"
	badRules             = "Phrase rules cannot be used"
	badSchema            = "Schema cannot be used"
	badSource            = "Bad plugin source"
	badType              = "Bad type"
	badVariable          = "Value of a variable cannot be used"
	byteOrderMark        = "Byte order mark"
	carriageReturn       = "Carriage return"
	deadArm              = "Way that can never be taken"
	dependsOnItself      = "Stage that is not independent of itself"
	duplicateBlock       = "Duplicate block"
	duplicateKey         = "Duplicate key"
	duplicateName        = "Duplicate name"
	duplicateOutcome     = "Outcome with two arms"
	duplicateWord        = "Duplicate element"
	emptyArm             = "Arm that leads nowhere"
	emptyList            = "Empty list"
	emptyText            = "Empty text"
	expressionTooLong    = "Expression too long"
	fileTooLarge         = "File too large"
	infrastructureRouted = "Failure of infrastructure in a route"
	invariantBroken      = "Invariant does not hold"
	localCycle           = "Local that reads itself"
	misplacedBlock       = "Block in the wrong file"
	missingAttribute     = "Missing attribute"
	missingBlock         = "Missing block"
	missingSecrets       = "Missing secrets"
	mixedPhases          = "Checks out of order"
	nestedTooDeep        = "Nested too deep"
	noPipeline           = "No pipeline"
	notABlock            = "Attribute written as a block"
	notAReference        = "Not a reference"
	notAnAttribute       = "Block written as an attribute"
	notLaidOut           = "Block left as it is written"
	notSupportedYet      = "Not supported yet"
	notUTF8              = "Not UTF-8"
	numberOutOfRange     = "Number out of range"
	oneOfSeveral         = "Attributes that exclude each other"
	openWhen             = "Conditions that do not cover every case"
	outcomeNeverSaid     = "Outcome that never comes"
	outcomeNotListed     = "Outcome that is not listed"
	pathOutside          = "Path outside the pipeline"
	pluginUndescribed    = "Plugin without a description"
	pluginWithoutBatches = "Plugin without batches"
	reservedName         = "Reserved name"
	retiredCode          = "Retired failure code"
	sensitiveValue       = "Sensitive value"
	strayAttribute       = "Attribute without a meaning here"
	strayBlock           = "Block without a meaning here"
	undeclaredCode       = "Undeclared failure code"
	unknownAttribute     = "Unknown attribute"
	unknownBlock         = "Unknown block"
	unknownCheck         = "Unknown check"
	unknownCorpus        = "Unknown corpus"
	unknownOutcome       = "Unknown outcome"
	unknownVariable      = "Unknown variable"
	unknownWord          = "Unknown word"
	untypedDocument      = "Document without a schema"
	unusedCode           = "Unused failure code"
	unusedProvider       = "Unused provider"
	unusedReads          = "Unused reads"
	validationFailed     = "Value refused"
	variableNotSet       = "Variable not set"
	wholeObject          = "All locals read at once"
	wrongLabels          = "Wrong labels"
	wrongHold            = "Hold without a visit"
	wrongPluginKind      = "Plugin of the wrong kind"
	wrongRoute           = "Route without a way"
	wrongType            = "Wrong type"
	wrongVersion         = "Wrong version of Penstock"
)

// unknownSummary is the summary for a reference that names nothing.
var unknownSummary = map[string]string{
	"plugin":   "Unknown plugin",
	"provider": "Unknown provider",
	"source":   "Unknown source",
	"stage":    "Unknown stage",
	"route":    "Unknown route",
	"gate":     "Unknown gate",
	"mode":     "Unknown mode",
	"failure":  "Unknown failure code",
}

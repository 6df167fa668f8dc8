package gate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// proofs names the tests that hold each rule of docs/gate.md. Those of package main
// run the whole program.
var proofs = map[string]string{
	"1.1": "TestZeroAdmission TestWhoWritesFiles",
	"1.2": "TestBrokenKindsNeverAccept TestNoAcceptOnGarbage",
	"1.3": "TestContentAndWorld TestFullDisk TestVanishedFolder",

	"2.1": "TestTriviaBreaker TestTriviaBatches",
	"2.2": "TestR32R49AnyPipeline",

	"3.1": "TestOpenRefuses TestNetworkPhase TestNoRequestWithoutNeed",
	"3.2": "TestTriviaRules TestNetworkPhase",
	"3.3": "TestUndecided",
	"3.4": "TestShadowNotes",
	"3.5": "TestR46R47FindingsMerge",
	"3.6": "TestContentAndWorld TestStops",
	"3.7": "TestTriviaBytes TestWrongArgumentsNeverAccept",
	"3.8": "TestQuotedReadsOnce TestUnrelatedByFinalURL TestUnrelatedAgainInItsMode TestLaunderedLinks",
	"3.9": "TestBrokenPagesNeverAccept TestBrokenReaders TestContextEndsWhileReading TestCanary",

	"4.1":  "TestFresh TestCheckArguments",
	"4.2":  "TestIndependent TestTriviaIndependence",
	"4.3":  "TestCheckArguments TestTriviaRules",
	"4.4":  "TestSources TestSourcesInAnyOrder TestTriviaRules",
	"4.5":  "TestUnrelatedDomains TestSameOwner TestTriviaRules",
	"4.6":  "TestUnique TestTriviaDuplicates",
	"4.7":  "TestSchemaSeesCanonicalBytes TestSchemaPlace",
	"4.8":  "TestTriviaRules TestLeak",
	"4.9":  "TestTriviaRules TestWords",
	"4.10": "TestUnstableLanguage",
	"4.11": "TestLive TestLiveURLs TestCanary",
	"4.12": "TestQuoted TestFindQuote",
	"4.13": "TestNovel TestNovelIsNotBesideUnique TestNearest TestAsByComparingWithAll TestScopes",
	"4.14": "TestVotes TestVotesLeaveTheirSpread TestVotesThatCannotBe",

	"5.1": "TestAcceptKey TestPagesBelongToTheAcceptKey",
	"5.2": "TestKnownVerdicts",
	"5.3": "TestRecordAndEvidence TestTriviaDuplicates",
	"5.4": "TestKept",

	"6.1": "TestTriviaRows",
	"6.2": "TestTriviaRows TestEvidenceLine TestRecordAndEvidence",
	"6.3": "TestTriviaRows TestStops TestStopsWithoutRejections",
	"6.4": "TestReviewQueue",
	"6.5": "TestCorpusIdentity TestStateMayBeDeleted TestTornTails",
	"6.6": "TestSnapshotsThatAreNotUsed TestSnapshotDecidesNothing TestSnapshotCutAnywhere",
	"6.7": "TestOlderRecords",

	"7.1": "TestOneSyncForAllThatWait TestConcurrentCommits TestLargeBatches",
	"7.2": "TestLockOrder TestR57R58LockNamesItsHolder TestPythonsLockIsHonoured TestPythonHonoursOurLock TestPythonWaitsForUs TestKilledHolderFrees TestHolderWithoutANote TestLockFileReplacedWhileHeld TestNetworkFileSystems",
	"7.3": "TestTwoGatesOneCard TestFourProcessesAtOnce",
	"7.4": "TestCommitSurvivesEveryLossOfPower TestModelSeesLookalikes",
	"7.5": "TestCommitSurvivesEveryLossOfPower TestR44KillAtEveryNamedPoint TestKillInRecovery TestKillFourProcessesAtRandom",
	"7.6": "TestTornRowsOfOthers TestTornTails TestPythonAppends",
	"7.7": "TestEditedFilesStopTheGate TestEditedEvidenceIsToldAgain TestMissingFilesAreTold",
	"7.8": "TestDiskFillsUp TestNotWritable TestOneBucketDown TestFullDiskLeavesWholeLines TestReadOnlyFile",

	"8.1": "TestHold TestTriviaFourBuckets",
	"8.2": "TestCorpusOrder",
	"8.3": "TestBreaker TestTriviaBreaker",

	"9.1": "TestDryRun TestDryRunAfterCrash",

	"10.1": "TestRequest TestTime TestTimesOfAnAttempt TestCap TestTurns",
	"10.2": "TestRefusedAtTheDial TestPublic TestNameThatChangesItsAnswer TestAllowHosts",
	"10.3": "TestVerdictOfAStatus TestBodies TestRedirects TestRangeIsGivenUp TestSecondAttempt TestTLS TestNames TestWalls TestPagesThatAreNone",
	"10.4": "TestRetryAfter",
	"10.5": "TestNetworkPhase",
	"10.6": "TestLiveAnswersAreKept",
	"10.7": "TestPagesBelongToTheAcceptKey",

	"11.1": "TestEveryKindHasASample",
	"11.2": "TestBrokenKindsNeverAccept",
	"11.3": "TestBrokenPagesNeverAccept TestBrokenReaders",
	"11.4": "TestWrongArgumentsNeverAccept",
	"11.5": "TestAdmissionNeedsEveryResult",
	"11.6": "TestUnknownTriageNeverAccepts",
	"11.7": "TestLostChecksNeverAccept",
	"11.8": "TestBrokenChecksNeverAccept",

	"12.1": "TestScripts TestSingle",
	"12.2": "TestScripts",
	"12.3": "TestScripts",
	"12.4": "TestScripts",

	"13.1": "TestScripts TestTriviaBreaker",
	"13.2": "TestScripts",
	"13.3": "TestScripts TestChecksAloneAreShown",

	"14.1":  "TestEdits TestRepairFinishesTheJournal",
	"14.2":  "TestEdits",
	"14.3":  "TestEdits",
	"14.4":  "TestEdits",
	"14.5":  "TestEdits",
	"14.6":  "TestRepairs TestRepairFinishesTheJournal",
	"14.7":  "TestRandomEdits TestKillInRepair TestRepairs",
	"14.8":  "TestRepairs",
	"14.9":  "TestRepairs",
	"14.10": "TestKillInReset TestResetWaitsForTheLock TestScripts",
}

// ruleNumber begins a rule of the document.
var ruleNumber = regexp.MustCompile(`(?m)^(\d+\.\d+)\. `)

// Every rule of the document has a test that holds it, and every test that is named
// exists.
func TestRulesHaveProofs(t *testing.T) {
	text, err := os.ReadFile("../docs/gate.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, dir := range []string{".", "../cmd/penstock", "../internal/engine", "../internal/text", "../internal/fetch", "../internal/similar"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
					tests[f.Name.Name] = true
				}
			}
		}
	}
	var rules []string
	for _, m := range ruleNumber.FindAllStringSubmatch(string(text), -1) {
		if slices.Contains(rules, m[1]) {
			t.Errorf("docs/gate.md has two rules %s", m[1])
		}
		rules = append(rules, m[1])
		if proofs[m[1]] == "" {
			t.Errorf("docs/gate.md, rule %s, has no test that holds it: name one in proofs", m[1])
		}
	}
	for rule, named := range proofs {
		if !slices.Contains(rules, rule) {
			t.Errorf("proofs has a rule %s, which docs/gate.md does not", rule)
		}
		for name := range strings.FieldsSeq(named) {
			if !tests[name] {
				t.Errorf("rule %s: there is no test %s", rule, name)
			}
		}
	}
}

package host

// ConfinementGap is confinementGap, for tests outside.
var ConfinementGap = confinementGap

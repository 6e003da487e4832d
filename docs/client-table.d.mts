// Every endpoint of the admin API: what it takes and gives. Generated from the table of routes.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

export type Action = { readonly action: 'resume' | 'advance' | 'inspect' | 'restart' | 'retry' | 'retry_step' | 'skip' | 'mark_done' | 'accept_late' | 'readd' | 'move' | 'roll_back' | 'undo' | 'remove'; /** What it does, as a verb phrase. */ readonly about: string; /** The command, without the program’s name; it asks for a reason. */ readonly command: string; }

export type ActionMember = { readonly member: Member; /** Why it was refused; null for a changed member. */ readonly refusal: string | null; readonly failedAgain: boolean; }

export type AddedMembers = { readonly batchId: number; readonly isDryRun: boolean; readonly addedCount: number; /** Removed earlier, now active again. */ readonly takenBackCount: number; readonly skippedCount: number; /** The first 100. */ readonly skipped: readonly ({ readonly memberId: number; readonly reason: string; })[]; readonly warnings: readonly (string)[]; readonly approvalsLost: ApprovalsLost; }

export type ApprovalsLost = readonly ({ readonly batchId: number; readonly phaseName: string; readonly approvedBy: string; })[]

export type Attempt = { readonly stepId: number; readonly jobId: string; readonly attempt: number; readonly poll: number; readonly workerId: string; readonly sentAt: string; readonly settledAt: string; readonly outcome: string; readonly result: Json; readonly error: string | null; readonly durationMs: number | null; }

export type AuditRow = { readonly id: number; readonly at: string; /** Tenant and object id; never reassigned. */ readonly actor: string; readonly actorName: string; readonly action: string; readonly subject: string; readonly reason: string | null; /** IP address of the request. */ readonly source: string | null; readonly clientApp: string | null; readonly requestId: string | null; readonly before: Json; readonly after: Json; readonly isSealed: boolean; }

export type AuditVerdict = { readonly head: { readonly sealed: number; readonly hash: string; }; /** Rows 1 to `through` are gone: pruned `at`, because they were from before `before`. */ readonly pruned: { readonly through: number; readonly hash: string; readonly at: string; readonly before: string | null; } | null; readonly unsealed: number; readonly broken: { readonly sealNumber: number; readonly id: number | null; readonly why: string; } | null; }

export type Automation = { readonly runbookName: string; readonly automationEnabled: boolean; readonly enabledAt: string | null; readonly enabledBy: string | null; readonly disabledAt: string | null; readonly disabledBy: string | null; }

export type Batch = { readonly id: number; readonly runbookId: number; readonly runbookName: string; readonly runbookVersion: number; readonly batchStartTime: string | null; /** The batch time in the data source; null for manual batches. */ readonly sourceTime: string | null; readonly status: 'detected' | 'init_dispatched' | 'active' | 'completed' | 'failed' | 'cancelled'; readonly failedInInit: boolean; readonly isManual: boolean; readonly createdBy: string; readonly currentPhase: string | null; readonly held: Hold | null; readonly changeWindow: BatchChangeWindow | null; /** Members with a hold of their own. */ readonly heldMemberCount: number; /** Where the wave stands: how far its phases are. Its people are in `members`. */ readonly state: 'scheduled' | 'preparing' | 'cutting_over' | 'cut_over' | 'done' | 'failed' | 'rolled_back' | 'stopped' | 'removed'; /** Active members. */ readonly memberCount: number; readonly members: { /** Nothing has begun for the person. */ readonly scheduled: number; /** A phase before the cut-over has begun, and the cut-over has not. */ readonly preparing: number; /** In the phase at T-0, the cut-over. */ readonly cutting_over: number; /** Passed every step of the cut-over phase; a later phase is still to end. */ readonly cut_over: number; /** Passed every phase. */ readonly done: number; /** A step failed, and it was not rolled back. */ readonly failed: number; /** A step failed or was undone, and everything that failed was taken back. */ readonly rolled_back: number; /** The batch was cancelled or failed before the person was cut over, or ended with every phase overdue. */ readonly stopped: number; /** Left the batch: removed, gone from the source, or moved to another batch. */ readonly removed: number; /** Neither failed, rolled back nor removed. */ readonly active: number; readonly total: number; }; readonly detectedAt: string; readonly initDispatchedAt: string | null; readonly activatedAt: string | null; readonly endedAt: string | null; }

export type BatchChangeWindow = { /** Since when steps wait for a window. */ readonly closedAt: string | null; /** Null when none opens within a year. */ readonly opensAt: string | null; /** The last one; steps are sent outside the windows until then. */ readonly override: { readonly until: string; readonly by: string; readonly reason: string; } | null; }

export type BatchForecast = { readonly batchId: number; readonly at: string; readonly throughput: { readonly stepsPerMin: number; /** The measured time span. */ readonly overSec: number; }; /** The p50. Null while held, or where it would be a guess. */ readonly endsAt: string | null; /** Nine of ten such nights end by then. Null where it would be a guess. */ readonly p90: string | null; readonly because: string; readonly heldSince: string | null; /** The phases that have not ended, in order of time. */ readonly phases: readonly (PhaseForecast)[]; }

export type BatchPage = { readonly batch: Batch; /** The phase (or `init`) that `advance` would start in a manual batch. */ readonly nextPhase: string | null; /** Phases that have not started. */ readonly availablePhases: readonly (string)[]; readonly phases: readonly (Phase)[]; readonly initSteps: readonly (Step)[]; /** The `time_zone` of the runbook. */ readonly timeZone: string | null; }

export type BatchSummary = { readonly batch: Batch; /** Whether the change windows are open now, an override included. Null without windows, and for an ended batch. */ readonly window: { /** Its changes begin when the phase does. */ readonly isOpen: boolean; /** Of an open window; null when it stays open. */ readonly closesAt: string | null; /** Of a closed window: changes begin then. Null when none opens within a year. */ readonly opensAt: string | null; readonly timeZone: string; readonly freezeReason: string | null; } | null; readonly phases: readonly (Phase)[]; readonly steps: { /** Steps of the phases that have started. */ readonly total: number; readonly open: number; readonly passed: number; readonly failed: number; }; readonly throughput: { readonly stepsPerMin: number; /** The measured time span. */ readonly overSec: number; }; readonly estimate: Forecast; /** As /api/needs of the batch. */ readonly verdict: { readonly isSomebodyNeeded: boolean; /** Of the first need; null when nobody is needed. */ readonly severity: 'urgent' | 'soon' | 'later' | 'planned' | null; /** The same sentence wherever it is asked; UTC. */ readonly headline: string; /** The greatest harm first. */ readonly needs: readonly (Need)[]; /** Holds that a person set. Nobody is needed for them. */ readonly planned: readonly (Need)[]; /** False when there are more. */ readonly isEveryNeedListed: boolean; }; /** Open reviews by kind; see /api/reviews. */ readonly openReviews: { readonly removal: number; readonly move: number; readonly join: number; }; }

export type BulkAction = { readonly id: number; readonly batchId: number; /** As in the audit, such as `members.retry`. */ readonly action: string; readonly by: string; readonly reason: string; readonly startedAt: string; readonly endedAt: string | null; /** `interrupted`: its process died; the members that are not listed were not tried. */ readonly state: 'running' | 'ended' | 'interrupted'; /** The filters; of `ids` and `keys` only how many. */ readonly selection: Json; /** Such as `fromStep` or `toBatchId`. */ readonly options: Json; readonly selectedCount: number; readonly doneCount: number; readonly refusedCount: number; }

export type BulkActionNow = { readonly id: number; readonly batchId: number; /** As in the audit, such as `members.retry`. */ readonly action: string; readonly by: string; readonly reason: string; readonly startedAt: string; readonly endedAt: string | null; /** `interrupted`: its process died; the members that are not listed were not tried. */ readonly state: 'running' | 'ended' | 'interrupted'; /** The filters; of `ids` and `keys` only how many. */ readonly selection: Json; /** Such as `fromStep` or `toBatchId`. */ readonly options: Json; readonly selectedCount: number; readonly doneCount: number; readonly refusedCount: number; /** The changed members by their state now. */ readonly now: { /** Nothing has begun for the person. */ readonly scheduled: number; /** A phase before the cut-over has begun, and the cut-over has not. */ readonly preparing: number; /** In the phase at T-0, the cut-over. */ readonly cutting_over: number; /** Passed every step of the cut-over phase; a later phase is still to end. */ readonly cut_over: number; /** Passed every phase. */ readonly done: number; /** A step failed, and it was not rolled back. */ readonly failed: number; /** A step failed or was undone, and everything that failed was taken back. */ readonly rolled_back: number; /** The batch was cancelled or failed before the person was cut over, or ended with every phase overdue. */ readonly stopped: number; /** Left the batch: removed, gone from the source, or moved to another batch. */ readonly removed: number; }; /** Failed since the change began. */ readonly failedAgain: number; /** With a hold of their own. */ readonly heldNow: number; }

export type CausedNeed = { readonly kind: 'everything_held' | 'worker_silent' | 'gate_waiting' | 'failure_limit' | 'batch_held' | 'people_failed' | 'phase_late' | 'stuck' | 'forecast_miss' | 'review_waiting' | 'source_failing' | 'dead_letters' | 'channel_failing' | 'rows_left_out'; /** urgent: harm happens now or within the hour. planned: as somebody ordered, and nobody is needed. */ readonly severity: 'urgent' | 'soon' | 'later' | 'planned'; /** The same for as long as it lasts. */ readonly key: string; /** The batch, where it concerns one alone. */ readonly batchId: number | null; /** The batches concerned; null: all of these runbooks. */ readonly batchIds: readonly (number)[] | null; /** The runbooks concerned; null: all. */ readonly runbookNames: readonly (string)[] | null; /** A few words. */ readonly title: string; /** A sentence that names no member; times in UTC. */ readonly text: string; readonly count: number; /** One of what is counted, such as "removal". */ readonly noun: string; readonly since: string; /** Handles it, or shows it in full. */ readonly command: string; /** Commands that decide it as a whole. */ readonly decide: readonly (string)[]; /** The page of the dashboard that handles it. */ readonly page: { readonly path: string; readonly link: string; }; /** Of failures: the largest 3 groups. */ readonly causes: readonly ({ /** Where they failed, and the first line of why. */ readonly text: string; /** The first people concerned. */ readonly people: readonly (string)[]; /** All of them. */ readonly count: number; })[]; }

export type Channel = { readonly name: string; readonly type: 'teams' | 'mail' | 'webhook'; readonly timeZone: string; readonly quietHours: { readonly days: readonly ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]; readonly from: string; readonly to: string; } | null; /** How long what is not urgent is collected. */ readonly digestSec: number | null; /** Of the last 30 days. */ readonly lastSentAt: string | null; /** Messages that are not sent yet. */ readonly waiting: number; /** Its newest message failed, or one is tried again and again. */ readonly failingSince: string | null; readonly error: string | null; }

export type Channels = { readonly channels: readonly (Channel)[]; readonly rules: readonly (NotificationRule)[]; /** Conditions that pass digests and quiet hours. */ readonly urgent: readonly ('everything_held' | 'worker_silent' | 'gate_waiting' | 'failure_limit' | 'batch_held' | 'people_failed' | 'phase_late' | 'stuck' | 'forecast_miss' | 'review_waiting' | 'source_failing' | 'dead_letters' | 'phase_ended' | 'batch_ended')[]; }

export type ClonedBatch = { readonly batchId: number | null; readonly isDryRun: boolean; readonly clonedFrom: number; readonly memberCount: number; readonly batch: Batch | null; }

export type Condition = { readonly id: number; readonly key: string; readonly kind: 'everything_held' | 'worker_silent' | 'gate_waiting' | 'failure_limit' | 'batch_held' | 'people_failed' | 'phase_late' | 'stuck' | 'forecast_miss' | 'review_waiting' | 'source_failing' | 'dead_letters' | 'phase_ended' | 'batch_ended'; readonly runbookName: string | null; readonly batchId: number | null; readonly title: string; /** A sentence; times in UTC. */ readonly text: string; /** Handles it, or shows it in full. */ readonly command: string; readonly since: string; /** When the message was written. */ readonly openedAt: string; /** Those that get it. */ readonly channels: readonly (string)[]; /** That tell of it; without those in which it is only counted. */ readonly messages: readonly ({ readonly id: number; readonly channel: string; readonly status: 'waiting' | 'sent' | 'failed'; })[]; }

export type Conditions = { readonly conditions: readonly (Condition)[]; /** Cursor of the next page. */ readonly next: string | null; }

export type CreatedBatch = { /** Null in a dry run. */ readonly batchId: number | null; readonly isDryRun: boolean; readonly batch: Batch | null; readonly memberCount: number; /** In time order. */ readonly availablePhases: readonly (string)[]; readonly warnings: readonly (string)[]; }

export type CurrentStep = { readonly stepId: number; readonly stepKind: 'phase' | 'init' | 'rollback' | 'removal' | 'undo'; readonly phaseName: string | null; readonly stepName: string; readonly workerId: string; /** From 0. */ readonly attempt: number; readonly waitsFor: 'slot' | 'window' | 'job' | 'retry' | 'poll'; readonly since: string; /** The next attempt or poll; a job’s deadline. */ readonly wakeAt: string | null; }

export type DatabaseRole = { readonly name: string; /** Workers whose jobs it may take; empty for an application. */ readonly workerIds: readonly (string)[]; /** Rights that it lacks. */ readonly missing: readonly (string)[]; /** Rights that it does not need. */ readonly excess: readonly (string)[]; }

export type DatabaseRoles = { /** The role of the process that answers. */ readonly runsAs: string; /** It owns the tables. */ readonly isOwner: boolean; /** Those that "matoolkit db grant" has set up. */ readonly roles: readonly (DatabaseRole)[]; }

export type DeactivatedVersion = { readonly name: string; readonly version: number; readonly isActive: boolean; }

export type DeadLetter = { readonly id: string; readonly topic: 'orchestrator-events' | 'worker-jobs' | 'worker-results'; readonly subscription: string; readonly messageId: string; readonly type: string | null; readonly deliveryCount: number; readonly enqueuedAt: string; readonly reason: string; readonly description: string; readonly deadLetteredAt: string; readonly properties: { readonly [key: string]: string }; /** The raw body. */ readonly body: string; }

export type DeadLetters = { readonly deadLetters: readonly ({ readonly id: string; readonly topic: 'orchestrator-events' | 'worker-jobs' | 'worker-results'; readonly subscription: string; readonly messageId: string; readonly type: string | null; readonly deliveryCount: number; readonly enqueuedAt: string; readonly reason: string; readonly description: string; readonly deadLetteredAt: string; })[]; readonly next: string | null; }

export type DecidedBatch = { readonly isDryRun: boolean; readonly batch: Batch; readonly phases: readonly (Phase)[]; }

export type DecidedDeadLetter = { readonly id: string; readonly sentAs: string | null; }

export type DecidedGate = { readonly isDryRun: boolean; readonly gate: Gate; }

export type DecidedReviews = { readonly isDryRun: boolean; readonly doneCount: number; readonly refusedCount: number; /** The first 100. */ readonly refused: readonly ({ readonly memberId: number; readonly reason: string; })[]; /** The reviews by kind, batch and new time. */ readonly groups: readonly ({ readonly kind: 'removal' | 'move' | 'join'; readonly runbookName: string; readonly batchId: number | null; readonly fromTime: string | null; readonly toTime: string | null; readonly people: number; /** The first five. */ readonly memberKeys: readonly (string)[]; })[]; /** Phases that start at once because their new time has passed. */ readonly overdue: readonly ({ readonly phaseName: string; readonly dueAt: string; })[]; readonly startsAtOnce: StartsAtOnce; readonly approvalsLost: ApprovalsLost; }

export type DecidedStep = { readonly isDryRun: boolean; readonly step: StepDetail; }

export type Effect = { readonly stepId: number; /** The batch in which it was changed. It is undone where the person is now. */ readonly batchId: number; readonly kind: 'phase' | 'init' | 'rollback' | 'removal' | 'undo'; /** `phase/step`. */ readonly step: string; /** The function that changed it. */ readonly functionName: string | null; readonly attempt: number; readonly at: string; /** `goes_with`: its object goes by another undo; `beyond`: done before the point of no return; `unknown`: the worker did not tell what it changed. */ readonly state: 'to_undo' | 'undoing' | 'undone' | 'skipped' | 'rolled_back' | 'goes_with' | 'beyond' | 'irreversible' | 'unknown'; /** Why it is not undone, or what an undo leaves. */ readonly note: string | null; readonly target: string | null; /** What was there before. */ readonly before: Json; /** What was set; null when the inverse does not compare it. */ readonly after: Json; /** What was done before it stays, unless a person asks for more. */ readonly isPointOfNoReturn: boolean; /** The inverse; null when there is none. */ readonly undo: { readonly functionName: string; readonly parameters: Json; } | null; readonly undoStepId: number | null; readonly undoError: string | null; }

export type Effects = { readonly items: readonly (Effect)[]; }

export type ErrorMeaning = { readonly id: string; readonly means: string; /** Who must act. */ readonly actor: 'operator' | 'runbook_author' | 'tenant_administrator' | 'microsoft' | 'nobody'; readonly todo: string; /** Whether a retry helps. */ readonly retry: 'now' | 'after_fix' | 'never'; }

export type Event = { readonly id: number; readonly at: string; readonly batchId: number | null; readonly entity: 'system' | 'runbook' | 'batch' | 'phase' | 'member' | 'step' | 'worker'; readonly event: string; readonly fromStatus: string | null; readonly toStatus: string | null; readonly memberId: number | null; readonly memberKey: string | null; readonly phaseName: string | null; readonly stepId: number | null; readonly stepName: string | null; readonly attempt: number | null; readonly jobId: string | null; readonly actor: string; readonly because: string; }

export type EvidenceKey = { /** SHA-256 of the public key (SPKI, DER), in hex. */ readonly fingerprint: string; /** As PEM. */ readonly publicKey: string; }

export type FailureGroupOfBatches = { /** The message without ids, times, numbers and addresses; selects the members. */ readonly pattern: string; readonly kind: 'phase' | 'init' | 'rollback' | 'removal' | 'undo'; readonly runbookName: string; readonly phaseName: string | null; readonly stepName: string; readonly count: number; readonly batches: readonly ({ readonly batchId: number; readonly count: number; })[]; readonly firstSeenAt: string; readonly lastSeenAt: string; /** The trend: the latest hours that had any. */ readonly perHour: readonly ({ readonly from: string; readonly count: number; })[]; readonly sample: { readonly batchId: number; readonly stepId: number; readonly memberId: number | null; readonly message: string; }; readonly meaning: ErrorMeaning | null; }

export type Failures = { /** Steps that failed and are not retried. */ readonly count: number; /** False when there are more than 200000; the rest is not read. */ readonly isComplete: boolean; readonly groupCount: number; /** The largest 100, largest first. */ readonly groups: readonly ({ /** The message without ids, times, numbers and addresses. */ readonly pattern: string; readonly kind: 'phase' | 'init' | 'rollback' | 'removal' | 'undo'; readonly phaseName: string | null; readonly stepName: string; readonly count: number; /** Keys of the first 3 members it hit. */ readonly people: readonly (string)[]; readonly firstSeenAt: string; readonly lastSeenAt: string; readonly sample: { readonly stepId: number; readonly memberId: number | null; readonly message: string; }; readonly meaning: ErrorMeaning | null; /** The command that lists everybody, without the program’s name. */ readonly list: string; /** What an operator may do about all of them now, most useful first; of the largest 10 groups. */ readonly actions: readonly (Action)[]; })[]; }

export type FailuresOfBatches = { /** Batches with failures that were read. */ readonly batchCount: number; /** False when there are more than 50 batches or 100 groups. */ readonly isComplete: boolean; /** The largest first. */ readonly groups: readonly (FailureGroupOfBatches)[]; }

export type Fault = { /** Place in the request. */ readonly path?: string | undefined; readonly line?: number | undefined; /** Spreadsheet row; the header is row 1. */ readonly row?: number | undefined; readonly column?: string | number | undefined; readonly code?: string | undefined; readonly severity?: 'error' | 'warning' | undefined; readonly message: string; }

export type Forecast = { /** The p50. Null while held, or where it would be a guess. */ readonly endsAt: string | null; /** Nine of ten such nights end by then. Null where it would be a guess. */ readonly p90: string | null; readonly because: string; readonly heldSince: string | null; /** The phases that have not ended, in order of time. */ readonly phases: readonly (PhaseForecast)[]; }

export type ForecastMiss = { readonly deadline: string; /** What begins then: T-0, or a phase. */ readonly deadlineOf: string; /** By the p50; 0 when only the p90 is late. */ readonly bySec: number; /** Since when people are told; null for the first minute. */ readonly since: string | null; /** A sentence; times in UTC. */ readonly text: string; }

export type FoundMembers = { /** Null without a text. `key`: the text is their key. `address`: it is or was one of their addresses. `text`: it is part of their key or data. `near`: only its beginning is. */ readonly how: 'key' | 'address' | 'text' | 'near' | null; /** False when there are more than 20. */ readonly isComplete: boolean; readonly members: readonly ({ /** In the data source: DisplayName, FullName, Name, or first and last name. */ readonly name: string | null; /** In the data source: Department or Dept. */ readonly department: string | null; readonly batch: { readonly id: number; readonly runbookName: string; readonly status: 'detected' | 'init_dispatched' | 'active' | 'completed' | 'failed' | 'cancelled'; readonly batchStartTime: string | null; }; /** The next phase of the batch that has not started. */ readonly nextPhase: { readonly phaseName: string; readonly dueAt: string | null; } | null; readonly member: Member; })[]; readonly total: number; /** False when `total` is a lower bound. */ readonly isTotalExact: boolean; /** The cursor of the next page; null on the last. */ readonly next: string | null; }

export type FunctionCatalogue = { /** Null: the program brings them along, and every worker has them. */ readonly workerId: string | null; /** Null for a configured worker that never announced itself. */ readonly functions: readonly ({ readonly name: string; readonly description: string | null; /** JSON Schema, as the worker announced it. */ readonly parameters: Json; readonly facts: FunctionFacts | null; })[] | null; }

export type FunctionCatalogues = { readonly catalogues: readonly (FunctionCatalogue)[]; readonly next: string | null; }

export type FunctionFacts = { readonly effect: 'reads' | 'tells' | 'changes'; readonly isIdempotent: boolean; /** Functions that take it back. */ readonly undoneBy: readonly (string)[]; /** What it does is lost for good. */ readonly isIrreversible?: true | undefined; /** The object is gone afterwards, until a function of `undoneBy` restores it. */ readonly removes?: true | undefined; /** It makes an object: running it again finds what a failed run made. */ readonly creates?: true | undefined; /** It leaves nothing that a later step could check or take back. */ readonly isMomentary?: true | undefined; /** It begins to copy what a person has, which takes days, or throws the copy away. */ readonly copy?: 'begins' | 'discards' | undefined; /** Checks see the changes of functions with the same subject. */ readonly subject?: string | undefined; /** Its result counts something that may run out: a gate adds it up. */ readonly countsSupply?: { /** What people call it, in the plural: licences. */ readonly noun: string; readonly list: string; readonly id: string; readonly name: string; readonly free: string; /** Whether the member of the step has one. */ readonly isHeld: string; } | undefined; /** Functions that must come first on the same worker, if the runbook has them. */ readonly comesAfter?: { readonly functions: readonly (string)[]; /** What happens otherwise, and what to do. */ readonly because: string; /** A call whose parameter begins like this may come earlier. */ readonly unless?: { readonly parameter: string; readonly startsWith: string; } | undefined; } | undefined; /** The fields of its result; missing where it may return any. */ readonly returns?: readonly (string)[] | undefined; /** From the worker’s folder of custom functions. */ readonly isCustom?: true | undefined; /** It is meant to run instead of the built-in function of its name. */ readonly overrides?: true | undefined; }

export type Gate = { readonly phaseName: string; readonly phaseStatus: 'pending' | 'dispatched' | 'completed' | 'failed' | 'skipped' | 'superseded' | 'cancelled'; readonly dueAt: string | null; /** open: the phase may start at its time. closed: something is missing. waiting: closed, and its time has come. passed: it has started. */ readonly state: 'open' | 'closed' | 'waiting' | 'passed'; readonly passedAt: string | null; /** What it still needs. */ readonly missing: readonly (string)[]; readonly approvals: { readonly needed: number; readonly given: number; }; readonly readiness: { readonly neededPercent: number | null; readonly percent: number; /** Active members who passed every earlier phase. */ readonly ready: number; /** Members who are not removed. */ readonly members: number; readonly isWaived: boolean; }; /** What may run out, such as licences, as steps of earlier phases have counted it. */ readonly supplies: readonly ({ /** What people call it, in the plural: licences. */ readonly noun: string; /** Of a licence the part number, such as SPE_E3. */ readonly name: string; /** Members who do not have it. */ readonly needed: number; /** Free, by the newest answer. */ readonly free: number; /** When that answer came. */ readonly countedAt: string; })[]; readonly earlierPhases: readonly ({ readonly phaseName: string; readonly status: 'pending' | 'dispatched' | 'completed' | 'failed' | 'skipped' | 'superseded' | 'cancelled'; readonly members: number; readonly passed: number; readonly failed: number; readonly openSteps: number; })[]; /** Newest first. */ readonly decisions: readonly (GateDecision)[]; }

export type GateDecision = { readonly id: number; readonly kind: 'approval' | 'waiver'; readonly by: string; readonly at: string; readonly reason: string; /** Of a waiver. */ readonly endsAt: string | null; /** Neither withdrawn, over nor void. */ readonly isCounted: boolean; /** Why it was withdrawn or became void. */ readonly endedBecause: string | null; }

export type Gates = { readonly batchId: number; /** Published the batch's version, and cannot approve. */ readonly publishedBy: string | null; readonly failedMembers: number; readonly openReviews: { readonly removal: number; readonly move: number; readonly join: number; }; readonly holds: readonly ({ readonly scope: string; readonly target: string; readonly heldBy: string; readonly reason: string; })[]; /** In the order of time. */ readonly gates: readonly (Gate)[]; }

export type Grid = { readonly batchId: number; /** Rows of the whole grid, removed members included. */ readonly total: number; /** Phases in order of time, steps in theirs. */ readonly columns: readonly (GridColumn)[]; readonly rows: readonly ({ readonly memberId: number; readonly memberKey: string; readonly state: 'scheduled' | 'preparing' | 'cutting_over' | 'cut_over' | 'done' | 'failed' | 'rolled_back' | 'stopped' | 'removed'; /** A hold of this member alone. */ readonly isHeld: boolean; /** A letter a column: w pending, d dispatched, p polling, s succeeded, k skipped, f failed, t poll_timeout, r rolled_back, c cancelled; a dot for a step to come. */ readonly cells: string; })[]; }

export type GridColumn = { readonly phaseName: string; readonly stepName: string; }

export type GridOverview = { readonly batchId: number; /** When the steps were counted. */ readonly at: string; readonly total: number; readonly columns: readonly (GridColumn)[]; readonly membersPerRow: number; /** What the counts stand for. */ readonly classes: readonly ('waiting' | 'running' | 'passed' | 'failed' | 'undone')[]; /** By row and column, members by class; the rest has no step yet. */ readonly rows: readonly (readonly (readonly (number)[])[])[]; }

export type Held = { readonly hold: HoldInForce; /** Jobs that no worker had taken. */ readonly withdrawnJobs: number; /** Jobs that workers have taken: they finish, and their results are recorded. */ readonly runningJobs: number; }

export type HeldBatch = { readonly isDryRun: boolean; readonly batch: Batch; readonly phases: readonly (Phase)[]; /** Jobs that no worker had taken. */ readonly withdrawnJobs: number; /** Jobs that workers have taken: they finish, and their results are recorded. */ readonly runningJobs: number; }

export type HeldMembers = { readonly batchId: number; readonly isDryRun: boolean; /** To come back to it: `GET /api/actions/{actionId}`. Null when nothing was tried. */ readonly actionId: number | null; readonly selectedCount: number; /** The first 100. */ readonly selected: readonly ({ readonly memberId: number; readonly memberKey: string; })[]; /** All selected; in a dry run at least the first 500. */ readonly triedCount: number; readonly doneCount: number; /** The first 100. */ readonly done: readonly ({ readonly memberId: number; readonly memberKey: string; })[]; readonly refusedCount: number; /** The first 100. */ readonly refused: readonly ({ readonly memberId: number; readonly memberKey: string; readonly reason: string; })[]; readonly approvalsLost: ApprovalsLost; /** Jobs that no worker had taken. */ readonly withdrawnJobs: number; /** Jobs that workers have taken: they finish, and their results are recorded. */ readonly runningJobs: number; }

export type Hold = { readonly at: string; readonly by: string; readonly reason: string; }

export type HoldInForce = { readonly scope: 'system' | 'runbook' | 'worker' | 'batch' | 'member'; /** Empty for the system, else the runbook, or the id of worker, batch or member. */ readonly target: string; /** Of a held member. */ readonly batchId: number | null; readonly memberId: number | null; readonly memberKey: string | null; readonly heldAt: string; readonly heldBy: string; readonly reason: string; /** What is held, in words. */ readonly name: string; /** The command that ends the hold. */ readonly endsWith: string; }

export type HoldReason = { readonly hold: HoldInForce; }

export type LastRestore = { /** The new end of job ids, such as k3f2qz in step-7~k3f2qz. */ readonly epoch: string; readonly at: string; readonly by: string; readonly because: string; /** When the newest record of the backup was written. */ readonly backupAt: string; } | null

export type Me = { readonly id: string; readonly name: string; readonly roles: readonly ('Admin' | 'Reader' | 'HelpDesk')[]; }

export type Member = { readonly id: number; readonly memberKey: string; readonly status: 'active' | 'failed' | 'removed'; /** Where the person stands in the migration. */ readonly state: 'scheduled' | 'preparing' | 'cutting_over' | 'cut_over' | 'done' | 'failed' | 'rolled_back' | 'stopped' | 'removed'; /** Where the person stands and what comes next, as a sentence; times in UTC. */ readonly where: string; /** The part of `where` about what runs or is waited for; null when nothing is. Times in UTC. */ readonly doing: string | null; /** A hold is what is waited for: of the member, its worker, the batch, the runbook or the system. */ readonly isHeld: boolean; /** A hold of this member alone. */ readonly held: Hold | null; readonly step: CurrentStep | null; /** Neither failed nor removed; see `state`. */ readonly isActive: boolean; readonly joinedAt: string; readonly leftAt: string | null; readonly failedAt: string | null; /** The end of the cut-over phase of a person who is cut over or done. */ readonly cutOverAt: string | null; /** The end of the last step of a person who is done. */ readonly finishedAt: string | null; /** `source` when the member left the data source. */ readonly removedBy: string | null; readonly movedToBatchId: number | null; /** The failed step of a member that is not active. */ readonly failure: { readonly stepId: number; readonly phaseName: string; readonly stepName: string; readonly status: string; readonly error: string | null; } | null; }

export type MemberDetail = { readonly member: { readonly id: number; readonly batchId: number; readonly memberKey: string; readonly status: 'active' | 'failed' | 'removed'; /** The member’s row in the data source. */ readonly data: { readonly [key: string]: Json }; /** Values that its steps returned. */ readonly outputs: { readonly [key: string]: Json }; readonly joinedAt: string; readonly failedAt: string | null; readonly leftAt: string | null; readonly removedBy: string | null; readonly movedToBatchId: number | null; }; readonly state: 'scheduled' | 'preparing' | 'cutting_over' | 'cut_over' | 'done' | 'failed' | 'rolled_back' | 'stopped' | 'removed'; /** A hold of this member alone. */ readonly held: Hold | null; /** Where the person stands and what comes next; times in UTC. */ readonly where: string; /** The part of `where` about what runs or is waited for; null when nothing is. Times in UTC. */ readonly doing: string | null; /** A hold is what is waited for: of the member, its worker, the batch, the runbook or the system. */ readonly isHeld: boolean; /** What is to come, at most 100; empty when nothing is. */ readonly next: readonly ({ readonly phaseName: string; readonly stepName: string; /** When it starts or is tried again; null when it follows the one before. */ readonly at: string | null; /** Its function cannot be undone, and what was done before it stays. */ readonly isPointOfNoReturn: boolean; })[]; /** What an operator may do about the member now, most useful first. */ readonly actions: readonly (Action)[]; /** Why a repair has to wait, such as a job that is under way. */ readonly blockedBecause: string | null; /** Messages that the person was sent, newest first, after those that failed and those to come; at most 100 of each. */ readonly messages: readonly (MemberMessage)[]; readonly steps: readonly (Step)[]; /** The newest 1000, newest first. */ readonly attempts: readonly (Attempt)[]; /** The newest 500, newest first. */ readonly events: readonly (Event)[]; }

export type MemberMessage = { readonly memberId: number; readonly memberKey: string; /** `correction_owed`: the person was told a start time that is no longer true, and the correction is not sent yet. */ readonly state: 'sent' | 'correction_owed' | 'not_sent' | 'failed'; readonly message: string; /** Null before the message is made. */ readonly language: string | null; /** The address it went to. */ readonly to: string | null; /** When the worker reported it as sent. */ readonly sentAt: string | null; /** The start of the batch when it was sent. */ readonly startTime: string | null; /** The message is a correction of this start time. */ readonly correctsTime: string | null; /** When a correction of it was sent. */ readonly correctedAt: string | null; /** The batch that the member has moved from since. */ readonly sentInBatchId: number | null; readonly phaseName: string | null; readonly stepName: string | null; readonly stepId: number | null; /** Of the step that sends it; null before its phase has begun. */ readonly stepStatus: 'pending' | 'dispatched' | 'polling' | 'succeeded' | 'failed' | 'poll_timeout' | 'rolled_back' | 'cancelled' | 'skipped' | null; readonly jobId: string | null; readonly error: string | null; }

export type MemberMessageCounts = { readonly batchId: number; /** When the messages were counted. */ readonly at: string; /** What was sent, by message and language. */ readonly messages: readonly ({ readonly message: string; readonly language: string; readonly sent: number; /** Of `sent`: those that correct a time. */ readonly corrections: number; /** Members whose correction is not sent yet. */ readonly correctionsOwed: number; readonly firstAt: string; readonly lastAt: string; })[]; /** The steps that send messages, in the order of their phases. */ readonly steps: readonly ({ readonly phaseName: string; readonly phaseStatus: 'pending' | 'dispatched' | 'completed' | 'failed' | 'skipped' | 'superseded' | 'cancelled'; readonly dueAt: string | null; readonly stepName: string; readonly message: string; /** Active members whom the step has sent it. */ readonly sent: number; /** Active members whom it has not sent it. */ readonly notSent: number; /** Members to whom it could not be sent. */ readonly failed: number; })[]; }

export type MembersOutcome = { readonly batchId: number; readonly isDryRun: boolean; /** To come back to it: `GET /api/actions/{actionId}`. Null when nothing was tried. */ readonly actionId: number | null; readonly selectedCount: number; /** The first 100. */ readonly selected: readonly ({ readonly memberId: number; readonly memberKey: string; })[]; /** All selected; in a dry run at least the first 500. */ readonly triedCount: number; readonly doneCount: number; /** The first 100. */ readonly done: readonly ({ readonly memberId: number; readonly memberKey: string; })[]; readonly refusedCount: number; /** The first 100. */ readonly refused: readonly ({ readonly memberId: number; readonly memberKey: string; readonly reason: string; })[]; readonly approvalsLost: ApprovalsLost; }

export type MessagePreview = { readonly message: string; /** The messages that can be previewed. */ readonly messages: readonly (string)[]; /** It goes only to people who were told another start time. */ readonly isCorrection: boolean; readonly phaseName: string | null; /** The first step that sends it. */ readonly stepName: string | null; readonly memberKey: string; /** For a made-up member. */ readonly isSample: boolean; readonly from: string; readonly to: string; readonly language: string; readonly languages: readonly (string)[]; /** The default language, for want of another. */ readonly isFallback: boolean; readonly languageBecause: string; readonly startTime: string | null; /** As the language writes it. */ readonly startText: string | null; /** Of a correction: what the person was told, else a week before the start. */ readonly formerTime: string | null; readonly formerText: string | null; readonly subject: string; /** As it is sent. HTML when `isHtml`: show it where no script runs. */ readonly body: string; readonly isHtml: boolean; /** Variables without a value: the step would fail. */ readonly problems: readonly ({ readonly code: string; readonly line: number; readonly column: number; readonly path: string; readonly message: string; })[]; readonly warnings: readonly (string)[]; }

export type Need = { readonly kind: 'everything_held' | 'worker_silent' | 'gate_waiting' | 'failure_limit' | 'batch_held' | 'people_failed' | 'phase_late' | 'stuck' | 'forecast_miss' | 'review_waiting' | 'source_failing' | 'dead_letters' | 'channel_failing' | 'rows_left_out'; /** urgent: harm happens now or within the hour. planned: as somebody ordered, and nobody is needed. */ readonly severity: 'urgent' | 'soon' | 'later' | 'planned'; /** The same for as long as it lasts. */ readonly key: string; /** The batch, where it concerns one alone. */ readonly batchId: number | null; /** The batches concerned; null: all of these runbooks. */ readonly batchIds: readonly (number)[] | null; /** The runbooks concerned; null: all. */ readonly runbookNames: readonly (string)[] | null; /** A few words. */ readonly title: string; /** A sentence that names no member; times in UTC. */ readonly text: string; readonly count: number; /** One of what is counted, such as "removal". */ readonly noun: string; readonly since: string; /** Handles it, or shows it in full. */ readonly command: string; /** Commands that decide it as a whole. */ readonly decide: readonly (string)[]; /** The page of the dashboard that handles it. */ readonly page: { readonly path: string; readonly link: string; }; }

export type Needs = { readonly at: string; readonly isSomebodyNeeded: boolean; /** Of the first need; null when nobody is needed. */ readonly severity: 'urgent' | 'soon' | 'later' | 'planned' | null; /** The same sentence wherever it is asked; UTC. */ readonly headline: string; /** The greatest harm first. */ readonly needs: readonly (Need)[]; /** Holds that a person set. Nobody is needed for them. */ readonly planned: readonly (Need)[]; /** False when there are more. */ readonly isEveryNeedListed: boolean; }

export type NextTick = { /** The total and the first rows. */ readonly newBatches: { readonly total: number; readonly first: readonly ({ readonly time: string; readonly members: number; readonly held: string | null; })[]; }; /** The total and the first rows. */ readonly joiners: { readonly total: number; readonly first: readonly ({ readonly batchId: number; readonly key: string; })[]; }; /** The total and the first rows. */ readonly rejoiners: { readonly total: number; readonly first: readonly ({ readonly batchId: number; readonly key: string; })[]; }; /** The total and the first rows. */ readonly moves: { readonly total: number; readonly first: readonly ({ readonly batchId: number; readonly key: string; readonly toTime: string; })[]; }; /** The total and the first rows. */ readonly leavers: { readonly total: number; readonly first: readonly ({ readonly batchId: number; readonly key: string; })[]; }; /** Missing for the first time; a second tick without them makes them leavers. */ readonly missing: number; readonly refreshed: number; /** The total and the first rows. */ readonly reviews: { readonly total: number; readonly first: readonly ({ readonly kind: string; readonly cause: string; readonly key: string; readonly batchId: number | null; readonly reason: string; })[]; }; readonly holds: readonly ({ readonly batchId: number; readonly reason: string; })[]; }

export type Notification = { readonly id: number; /** The same at every attempt. */ readonly messageId: string; readonly channel: string; readonly status: 'waiting' | 'sent' | 'failed'; readonly items: readonly (NotificationItem)[]; /** Items that the message only counts. */ readonly leftOut: number; readonly createdAt: string; /** When it is sent, or tried again. */ readonly dueAt: string; readonly attempts: number; readonly endedAt: string | null; /** Of the last attempt. */ readonly error: string | null; }

export type NotificationItem = { readonly state: 'open' | 'cleared' | 'ended' | 'test'; /** The same when a condition opens and is cleared. */ readonly key: string; readonly kind: string; readonly title: string; /** A sentence; times in UTC. */ readonly text: string; /** Handles it, or shows it in full. */ readonly command: string; readonly runbookName: string | null; readonly batchId: number | null; readonly since: string; readonly at: string; }

export type NotificationRule = { /** Where it is written. */ readonly from: 'settings' | 'runbook'; /** Empty: all. */ readonly conditions: readonly ('everything_held' | 'worker_silent' | 'gate_waiting' | 'failure_limit' | 'batch_held' | 'people_failed' | 'phase_late' | 'stuck' | 'forecast_miss' | 'review_waiting' | 'source_failing' | 'dead_letters' | 'phase_ended' | 'batch_ended')[]; readonly channels: readonly (string)[]; /** Null: all. */ readonly runbooks: readonly (string)[] | null; }

export type Notifications = { readonly notifications: readonly (Notification)[]; /** Cursor of the next page. */ readonly next: string | null; }

export type OverriddenBatch = { readonly isDryRun: boolean; readonly batch: Batch; readonly phases: readonly (Phase)[]; /** Steps that change a tenant and wait: an override sends them as slots are free. */ readonly waitingSteps: number; /** Their jobs that are out. When an override ends outside a window, those that no worker has begun are taken back. */ readonly outstandingJobs: number; }

export type Phase = { readonly id: number; readonly phaseName: string; /** Minutes before the start; negative after it. */ readonly offsetMinutes: number; readonly dueAt: string | null; readonly runbookVersion: number; readonly status: 'pending' | 'dispatched' | 'completed' | 'failed' | 'skipped' | 'superseded' | 'cancelled'; readonly skippedBecause: 'empty' | 'overdue' | null; readonly dispatchedAt: string | null; readonly completedAt: string | null; readonly steps: { readonly pending: number; readonly dispatched: number; readonly polling: number; readonly succeeded: number; readonly failed: number; readonly poll_timeout: number; readonly rolled_back: number; readonly cancelled: number; readonly skipped: number; }; readonly members: { readonly total: number; readonly passed: number; readonly failed: number; /** Failed in an earlier phase. */ readonly stopped: number; readonly removed: number; }; /** What must be true before it starts; see /api/batches/{batchId}/gates. */ readonly gate: { readonly approvals: number; readonly readyPercent: number | null; readonly passedAt: string | null; } | null; /** The shares of its members that start one after the other. */ readonly ramp: { readonly percents: readonly (number)[]; /** The share that has started, from 0. */ readonly share: number | null; readonly shares: readonly ({ readonly percent: number; readonly state: 'done' | 'running' | 'soaking' | 'to_come' | 'not_run'; })[]; readonly soakSec: number; /** The share has ended. */ readonly soakEndsAt: string | null; /** If more of the members who have started fail, no further share starts. */ readonly maxFailedPercent: number; } | null; /** Its steps after which nothing that came before can be taken back. */ readonly noReturnSteps: readonly (string)[]; /** Why nothing of it is sent: a hold, a closed change window, a gate, a soak, or a worker that is unknown or silent. Times in UTC. */ readonly waitsFor: string | null; }

export type PhaseForecast = { readonly phaseId: number; readonly phaseName: string; /** Of a phase to come: its time, or when the phases before have ended. */ readonly startsAt: string | null; /** The p50. Null where it would be a guess. */ readonly endsAt: string | null; /** Nine of ten such nights end by then. Null where it would be a guess. */ readonly p90: string | null; /** What the figures rest on; null when there are none. */ readonly source: 'pace' | 'other_phases' | 'rehearsal' | 'no_steps' | null; /** What the figures rest on, or why there are none; times in UTC. */ readonly because: string; /** It is forecast to miss its time. */ readonly miss: ForecastMiss | null; }

export type Phases = { readonly batchId: number; readonly phases: readonly (Phase)[]; }

export type Plan = { readonly runbookName: string; readonly startTime: string | null; readonly batchId: number | null; /** Active members of the batch. */ readonly memberCount: number | null; readonly init: readonly ({ readonly name: string; readonly workerId: string; readonly timeoutSec: number; readonly maxRetries: number; readonly isPolled: boolean; readonly onFailure: string | null; /** Variables for later steps. */ readonly puts: readonly (string)[]; /** The worker runs a function of its own instead of the built-in one. */ readonly isOwnFunction: boolean; readonly examples: readonly ({ readonly memberKey: string | null; readonly functionName: string; readonly params: Json; /** Variables without a value: the step would fail. */ readonly missing: readonly (string)[]; })[]; })[]; readonly phases: readonly ({ readonly name: string; readonly offsetMinutes: number; readonly dueAt: string | null; /** The phase would start at once. */ readonly isOverdue: boolean; readonly gate: { readonly approvals: number; readonly readyPercent: number | null; } | null; readonly ramp: { readonly percents: readonly (number)[]; readonly soakSec: number; readonly maxFailedPercent: number | null; } | null; /** Whether it is due inside the change windows. Null without windows, without a time, and for a phase that only reads. */ readonly window: { /** Its changes begin when the phase does. */ readonly isOpen: boolean; /** Of an open window; null when it stays open. */ readonly closesAt: string | null; /** Of a closed window: changes begin then. Null when none opens within a year. */ readonly opensAt: string | null; readonly timeZone: string; readonly freezeReason: string | null; } | null; /** Its steps after which nothing can be taken back. */ readonly noReturnSteps: readonly (string)[]; readonly steps: readonly ({ readonly name: string; readonly workerId: string; readonly timeoutSec: number; readonly maxRetries: number; readonly isPolled: boolean; readonly onFailure: string | null; /** Variables for later steps. */ readonly puts: readonly (string)[]; /** The worker runs a function of its own instead of the built-in one. */ readonly isOwnFunction: boolean; readonly examples: readonly ({ readonly memberKey: string | null; readonly functionName: string; readonly params: Json; /** Variables without a value: the step would fail. */ readonly missing: readonly (string)[]; })[]; })[]; })[]; readonly onRemoval: readonly ({ readonly name: string; readonly workerId: string; readonly timeoutSec: number; readonly maxRetries: number; readonly isPolled: boolean; readonly onFailure: string | null; /** Variables for later steps. */ readonly puts: readonly (string)[]; /** The worker runs a function of its own instead of the built-in one. */ readonly isOwnFunction: boolean; readonly examples: readonly ({ readonly memberKey: string | null; readonly functionName: string; readonly params: Json; /** Variables without a value: the step would fail. */ readonly missing: readonly (string)[]; })[]; })[]; /** Says that long values are cut, or that there are too many of them. */ readonly warnings: readonly (string)[]; }

export type Preview = { readonly rowCount: number; readonly columns: readonly ({ readonly name: string; readonly type: string; })[]; /** The first 100 rows. */ readonly sample: readonly ({ readonly [key: string]: Json })[]; /** Says that long cells are cut, or that the sample is shorter. */ readonly warnings: readonly (string)[]; /** In time order; one group without a time if the runbook has no batch times. */ readonly batchGroups: readonly ({ readonly batchTime: string | null; readonly memberCount: number; })[]; readonly groupCount: number; readonly problems: readonly ({ readonly kind: string; readonly key: string | null; readonly column: string | null; readonly batchId: number | null; readonly reason: string; })[]; readonly problemCount: number; readonly durationMs: number; readonly nextTick: NextTick; }

export type Problem = { readonly type: string; readonly title: string; readonly status: number; /** Stable; docs/reference/errors.md lists them all. */ readonly code: string; /** What happened and what to do next. */ readonly detail: string; readonly requestId: string; readonly details?: { readonly [key: string]: string | number } | undefined; readonly faults?: readonly (Fault)[] | undefined; /** Number of faults; `faults` lists the first of them. */ readonly faultCount?: number | undefined; }

export type Proof = { /** HMAC-SHA-256 with the token over "matoolkit", the address of the API and the nonce, in base64url; null without a local token. */ readonly proof: string | null; }

export type PublishImpact = { /** Unfinished batches; `listed` has the first of them. */ readonly batches: number; readonly membersActive: number; readonly phases: { readonly pending: number; readonly skipped: number; readonly carried_over: number; readonly rerun: number; readonly dropped: number; }; readonly inits: { readonly none: number; readonly new: number; readonly carried_over: number; readonly rerun: number; }; readonly listed: readonly ({ readonly batchId: number; readonly status: string; readonly fromVersion: number; readonly isManual: boolean; readonly isHeld: boolean; readonly membersActive: number; readonly init: 'none' | 'new' | 'carried_over' | 'rerun'; readonly phases: readonly ({ readonly name: string; readonly outcome: 'pending' | 'skipped' | 'carried_over' | 'rerun' | 'dropped'; readonly from: string | null; readonly dueAt: string | null; readonly because: string; /** Whether it is due inside the change windows. Null without windows, without a time, and for a phase that only reads. */ readonly window: { /** Its changes begin when the phase does. */ readonly isOpen: boolean; /** Of an open window; null when it stays open. */ readonly closesAt: string | null; /** Of a closed window: changes begin then. Null when none opens within a year. */ readonly opensAt: string | null; readonly timeZone: string; readonly freezeReason: string | null; } | null; })[]; readonly lacking: readonly ({ readonly variable: string; readonly members: number; })[]; })[]; readonly skipped: { readonly total: number; readonly listed: readonly ({ readonly batchId: number; readonly phase: string; readonly dueAt: string | null; })[]; }; readonly startsAtOnce: { readonly phases: readonly ({ /** Null for a batch of a dry run. */ readonly batchId: number | null; /** `init` for init steps that run again. */ readonly phaseName: string; readonly dueAt: string | null; readonly isOverdue: boolean; /** Active members of the batch. */ readonly people: number; readonly stepNames: readonly (string)[]; /** What must happen first; null when the phase starts at once. */ readonly waitsFor: 'init' | 'resume' | null; })[]; /** Steps that waited for the resume, by name. */ readonly steps: readonly ({ readonly batchId: number; readonly phaseName: string | null; readonly stepName: string; readonly people: number; })[]; /** All of them; `phases` has the first. */ readonly phaseCount: number; }; readonly warnings: readonly (string)[]; readonly approvalsLost: ApprovalsLost; }

export type Published = { /** Null in a dry run. */ readonly runbookId: number | null; readonly name: string; readonly version: number; /** False when the active version already has this text and these options. */ readonly isNew: boolean; readonly isDryRun: boolean; readonly warnings: readonly (Fault)[]; readonly impact: PublishImpact; }

export type RanAfterBackup = { readonly id: number; /** When a worker told it after the restore. */ readonly heardAt: string; readonly jobId: string; readonly functionName: string | null; readonly status: 'Success' | 'Failure'; readonly endedAt: string | null; readonly workerId: string | null; /** Null, like the following: the backup does not know the step. */ readonly batchId: number | null; readonly memberKey: string | null; readonly stepName: string | null; readonly stepStatus: 'pending' | 'dispatched' | 'polling' | 'succeeded' | 'failed' | 'poll_timeout' | 'rolled_back' | 'cancelled' | 'skipped' | null; }

export type Readiness = { readonly isReady: boolean; /** It works, holds included, though a check fails that somebody must look at. */ readonly isDegraded: boolean; readonly checks: readonly ({ readonly name: string; readonly isOk: boolean; readonly about: string; })[]; }

export type Rehearsal = { readonly id: number; readonly runbookName: string; /** The batch of a what-if; null for a rehearsal of a runbook. */ readonly batchId: number | null; readonly members: number; readonly requestedBy: string; readonly requestedAt: string; readonly status: 'running' | 'completed' | 'failed' | 'cancelled'; /** The time inside a running rehearsal; null if another API runs it. */ readonly at: string | null; readonly endedAt: string | null; /** Why it failed or was cancelled. */ readonly because: string | null; /** ready, ready with warnings, or not ready. */ readonly verdict: string | null; }

export type RehearsalDeleted = { readonly id: number; readonly did: 'cancelled' | 'deleted'; }

export type RehearsalWithReport = { readonly id: number; readonly runbookName: string; /** The batch of a what-if; null for a rehearsal of a runbook. */ readonly batchId: number | null; readonly members: number; readonly requestedBy: string; readonly requestedAt: string; readonly status: 'running' | 'completed' | 'failed' | 'cancelled'; /** The time inside a running rehearsal; null if another API runs it. */ readonly at: string | null; readonly endedAt: string | null; /** Why it failed or was cancelled. */ readonly because: string | null; /** ready, ready with warnings, or not ready. */ readonly verdict: string | null; /** The report, as "matoolkit runbook rehearse --output json" prints it; of a what-if, as "matoolkit batch what-if --output json" does. */ readonly report: Json; }

export type Rehearsals = { readonly rehearsals: readonly (Rehearsal)[]; }

export type RemovedMember = { readonly batchId: number; readonly memberId: number; readonly status: 'active' | 'failed' | 'removed'; }

export type RescheduledBatch = { readonly isDryRun: boolean; readonly batch: Batch; readonly phases: readonly (Phase)[]; /** Phases that start at once because their new time has passed. */ readonly overdue: readonly ({ readonly phaseName: string; readonly dueAt: string; })[]; readonly startsAtOnce: StartsAtOnce; readonly approvalsLost: ApprovalsLost; }

export type Restored = { /** The new end of job ids, such as k3f2qz in step-7~k3f2qz. */ readonly epoch: string; /** When the newest record of the backup was written. */ readonly backupAt: string; /** Jobs that were out: sent again after resume. */ readonly jobsOut: number; readonly hold: HoldInForce; }

export type ResumeStarts = { readonly batches: number; /** Phases whose time has come. */ readonly phases: number; /** Steps, retries and polls that are ready. */ readonly steps: number; }

export type Resumed = { readonly isDryRun: boolean; readonly hold: HoldInForce; readonly starts: ResumeStarts; readonly startsAtOnce: StartsAtOnce; }

export type ResumedBatch = { readonly isDryRun: boolean; readonly batch: Batch; readonly phases: readonly (Phase)[]; readonly startsAtOnce: StartsAtOnce; }

export type ResumedMembers = { readonly batchId: number; readonly isDryRun: boolean; /** To come back to it: `GET /api/actions/{actionId}`. Null when nothing was tried. */ readonly actionId: number | null; readonly selectedCount: number; /** The first 100. */ readonly selected: readonly ({ readonly memberId: number; readonly memberKey: string; })[]; /** All selected; in a dry run at least the first 500. */ readonly triedCount: number; readonly doneCount: number; /** The first 100. */ readonly done: readonly ({ readonly memberId: number; readonly memberKey: string; })[]; readonly refusedCount: number; /** The first 100. */ readonly refused: readonly ({ readonly memberId: number; readonly memberKey: string; readonly reason: string; })[]; readonly approvalsLost: ApprovalsLost; /** Steps, retries and polls that start at once; in a dry run of those tried. */ readonly startingSteps: number; }

export type Review = { readonly id: number; readonly runbookName: string; /** removal: a member is gone from the source. move: it stands at another time. join: it comes too late for its batch. */ readonly kind: 'removal' | 'move' | 'join'; readonly cause: string; readonly reason: string; readonly batchId: number | null; readonly memberId: number | null; readonly memberKey: string; /** When the member’s batch starts. */ readonly fromTime: string | null; /** The time the source has now. */ readonly toTime: string | null; /** Data of a latecomer. */ readonly data: { readonly [key: string]: Json } | null; readonly since: string; readonly dismissedAt: string | null; readonly dismissedBy: string | null; }

export type Reviews = { readonly reviews: readonly (Review)[]; /** Open reviews of the runbook or batch, by kind. */ readonly open: { readonly removal: number; readonly move: number; readonly join: number; }; readonly next: string | null; }

export type RolledBackMembers = { readonly batchId: number; readonly isDryRun: boolean; /** To come back to it: `GET /api/actions/{actionId}`. Null when nothing was tried. */ readonly actionId: number | null; readonly selectedCount: number; /** The first 100. */ readonly selected: readonly ({ readonly memberId: number; readonly memberKey: string; })[]; /** All selected; in a dry run at least the first 500. */ readonly triedCount: number; readonly doneCount: number; /** The first 100. */ readonly done: readonly ({ readonly memberId: number; readonly memberKey: string; })[]; readonly refusedCount: number; /** The first 100. */ readonly refused: readonly ({ readonly memberId: number; readonly memberKey: string; readonly reason: string; })[]; readonly approvalsLost: ApprovalsLost; /** In the order in which they run. */ readonly rollbacks: readonly ({ readonly rollback: string; /** `phase/step`, last first. */ readonly rollsBack: readonly (string)[]; /** The steps of the rollback. */ readonly runs: readonly (string)[]; readonly memberCount: number; })[]; /** Steps without a rollback: their effect stays. */ readonly kept: readonly ({ readonly step: string; readonly memberCount: number; })[]; }

export type Runbook = { readonly id: number; readonly name: string; readonly version: number; readonly isActive: boolean; readonly overdueBehavior: 'ignore' | 'rerun'; readonly rerunInit: boolean; readonly publishedAt: string; readonly publishedBy: string; /** Why the last tick failed; null after a good one. */ readonly lastError: string | null; readonly lastErrorAt: string | null; readonly isAutomationEnabled: boolean; readonly unfinishedBatches: number; readonly yamlContent: string; }

export type RunbookLine = { readonly id: number; readonly name: string; readonly version: number; readonly isActive: boolean; readonly overdueBehavior: 'ignore' | 'rerun'; readonly rerunInit: boolean; readonly publishedAt: string; readonly publishedBy: string; /** Why the last tick failed; null after a good one. */ readonly lastError: string | null; readonly lastErrorAt: string | null; readonly isAutomationEnabled: boolean; readonly unfinishedBatches: number; }

export type RunbookVersion = { readonly id: number; readonly name: string; readonly version: number; readonly isActive: boolean; readonly overdueBehavior: 'ignore' | 'rerun'; readonly rerunInit: boolean; readonly publishedAt: string; readonly publishedBy: string; /** Why the last tick failed; null after a good one. */ readonly lastError: string | null; readonly lastErrorAt: string | null; }

export type Selection = { /** All members that the action applies to. */ readonly all?: true | undefined; readonly ids?: readonly (number)[] | undefined; /** People by key, in any case; with `ids` both are selected. */ readonly keys?: readonly (string)[] | undefined; readonly failedPhase?: string | undefined; readonly failedStep?: string | undefined; /** Part of the error message. */ readonly error?: string | undefined; /** The `pattern` of a failure group: all members of the group. */ readonly pattern?: string | undefined; readonly state?: readonly ('scheduled' | 'preparing' | 'cutting_over' | 'cut_over' | 'done' | 'failed' | 'rolled_back' | 'stopped' | 'removed')[] | undefined; /** The current step is in this phase. */ readonly phase?: string | undefined; /** The current step has this name. */ readonly step?: string | undefined; /** Start of the key. */ readonly key?: string | undefined; /** Part of the key. */ readonly search?: string | undefined; /** With or without a hold of their own. */ readonly held?: boolean | undefined; }

export type SignIn = { readonly mode: 'local' | 'oidc'; /** The token issuer; null in local mode. */ readonly issuer: string | null; readonly clientId: string | null; readonly scope: string | null; }

export type Source = { readonly runbookName: string; readonly runbookVersion: number; readonly type: 'dataverse' | 'databricks' | 'postgres' | 'sqlserver' | 'csv'; readonly isAutomated: boolean; readonly lastTick: { readonly id: number; readonly startedAt: string; readonly endedAt: string | null; readonly outcome: 'running' | 'good' | 'failed' | 'abandoned'; readonly rowCount: number | null; readonly error: string | null; } | null; /** The end of the last good tick of a month. */ readonly lastGoodAt: string | null; /** Null before the first tick, and while automation is off. */ readonly nextTickAt: string | null; /** Rows that the last good tick could not use, and changes it did not make. */ readonly issueCount: number; readonly openReviews: number; }

export type SourceIssue = { readonly id: number; readonly tickId: number; readonly kind: string; readonly memberKey: string | null; readonly column: string | null; readonly batchId: number | null; readonly reason: string; readonly foundAt: string; }

export type SourceIssues = { readonly issues: readonly (SourceIssue)[]; readonly next: string | null; }

export type SourceOutlook = { readonly runbookName: string; readonly lastTickAt: string | null; readonly lastOutcome: string | null; readonly nextTickAt: string | null; }

export type StartsAtOnce = { readonly phases: readonly ({ /** Null for a batch of a dry run. */ readonly batchId: number | null; /** `init` for init steps that run again. */ readonly phaseName: string; readonly dueAt: string | null; readonly isOverdue: boolean; /** Active members of the batch. */ readonly people: number; readonly stepNames: readonly (string)[]; /** What must happen first; null when the phase starts at once. */ readonly waitsFor: 'init' | 'resume' | null; })[]; /** Steps that waited for the resume, by name. */ readonly steps: readonly ({ readonly batchId: number; readonly phaseName: string | null; readonly stepName: string; readonly people: number; })[]; }

export type Status = { readonly at: string; readonly isSomebodyNeeded: boolean; /** Of the first need; null when nobody is needed. */ readonly severity: 'urgent' | 'soon' | 'later' | 'planned' | null; /** The same sentence wherever it is asked; UTC. */ readonly headline: string; /** The greatest harm first. */ readonly needs: readonly (CausedNeed)[]; /** Holds that a person set. Nobody is needed for them. */ readonly planned: readonly (Need)[]; /** False when there are more. */ readonly isEveryNeedListed: boolean; /** Running, then the next of each batch; at most 100. */ readonly phases: readonly ({ readonly batchId: number; readonly runbookName: string; readonly phaseName: string; readonly status: 'pending' | 'dispatched' | 'completed' | 'failed' | 'skipped' | 'superseded' | 'cancelled'; readonly dueAt: string | null; readonly startedAt: string | null; readonly isManual: boolean; readonly heldAt: string | null; readonly membersTotal: number; readonly membersDone: number; readonly membersActive: number; /** Estimated end of the batch, as in its summary; of the first 20 with a running phase. */ readonly batchEndsAt: string | null; /** Why a batch with a running phase has none, such as a hold. */ readonly noEstimateBecause: string | null; })[]; readonly sources: readonly (SourceOutlook)[]; readonly workers: readonly (WorkerOutlook)[]; readonly holds: readonly (HoldInForce)[]; }

export type Step = { readonly id: number; readonly kind: 'phase' | 'init' | 'rollback' | 'removal' | 'undo'; readonly phaseExecutionId: number | null; readonly phaseName: string | null; readonly batchMemberId: number | null; readonly memberKey: string | null; /** The step that this one rolls back. */ readonly originStepId: number | null; readonly runbookVersion: number; readonly stepName: string; readonly stepIndex: number; readonly workerId: string; readonly functionName: string | null; readonly status: 'pending' | 'dispatched' | 'polling' | 'succeeded' | 'failed' | 'poll_timeout' | 'rolled_back' | 'cancelled' | 'skipped'; readonly attempt: number; readonly retryCount: number; readonly maxRetries: number; readonly retryAfter: string | null; readonly jobId: string | null; readonly isPollStep: boolean; readonly pollCount: number; readonly lastPolledAt: string | null; /** What the last poll said. Polls that say the same are counted; only changes are in attempts and events. */ readonly pollSaid: string | null; readonly dispatchedAt: string | null; readonly deadlineAt: string | null; readonly completedAt: string | null; readonly errorMessage: string | null; readonly meaning: ErrorMeaning | null; readonly hasLateResult: boolean; readonly waitsFor: 'slot' | 'window' | 'job' | 'retry' | 'poll' | null; readonly wakeAt: string | null; }

export type StepDetail = { readonly id: number; readonly kind: 'phase' | 'init' | 'rollback' | 'removal' | 'undo'; readonly phaseExecutionId: number | null; readonly phaseName: string | null; readonly batchMemberId: number | null; readonly memberKey: string | null; /** The step that this one rolls back. */ readonly originStepId: number | null; readonly runbookVersion: number; readonly stepName: string; readonly stepIndex: number; readonly workerId: string; readonly functionName: string | null; readonly status: 'pending' | 'dispatched' | 'polling' | 'succeeded' | 'failed' | 'poll_timeout' | 'rolled_back' | 'cancelled' | 'skipped'; readonly attempt: number; readonly retryCount: number; readonly maxRetries: number; readonly retryAfter: string | null; readonly jobId: string | null; readonly isPollStep: boolean; readonly pollCount: number; readonly lastPolledAt: string | null; /** What the last poll said. Polls that say the same are counted; only changes are in attempts and events. */ readonly pollSaid: string | null; readonly dispatchedAt: string | null; readonly deadlineAt: string | null; readonly completedAt: string | null; readonly errorMessage: string | null; readonly meaning: ErrorMeaning | null; readonly hasLateResult: boolean; readonly waitsFor: 'slot' | 'window' | 'job' | 'retry' | 'poll' | null; readonly wakeAt: string | null; readonly batchId: number; readonly params: Json; readonly result: Json; readonly lateResult: Json; readonly pollTimeoutAt: string | null; }

export type StepPage = { readonly step: StepDetail; readonly attempts: readonly (Attempt)[]; }

export type Stuck = { readonly batchId: number; readonly items: readonly ({ readonly kind: 'held' | 'not_advanced' | 'phase_overdue' | 'reviews_open' | 'worker_unknown' | 'worker_silent' | 'worker_busy' | 'window_closed' | 'result_overdue' | 'retry_overdue' | 'poll_overdue'; readonly because: string; /** The part of `because` about the worker; null unless a silent or unknown worker is the reason. */ readonly aboutWorker: string | null; /** Members, steps or reviews that wait. */ readonly count: number; /** False when `count` is a lower bound: at most a thousand are read. */ readonly isCountExact: boolean; readonly since: string | null; readonly workerId: string | null; /** One of the steps, as an example. */ readonly stepId: number | null; /** What an operator may do about it now. */ readonly actions: readonly (Action)[]; })[]; /** As /api/needs of the batch. */ readonly verdict: { readonly isSomebodyNeeded: boolean; /** Of the first need; null when nobody is needed. */ readonly severity: 'urgent' | 'soon' | 'later' | 'planned' | null; /** The same sentence wherever it is asked; UTC. */ readonly headline: string; /** The greatest harm first. */ readonly needs: readonly (Need)[]; /** Holds that a person set. Nobody is needed for them. */ readonly planned: readonly (Need)[]; /** False when there are more. */ readonly isEveryNeedListed: boolean; }; /** What all open steps wait for, blocked or not. */ readonly waiting: readonly ({ readonly workerId: string; readonly kind: 'slot' | 'job' | 'retry' | 'poll'; readonly count: number; /** False when `count` is a lower bound: at most a thousand are read. */ readonly isCountExact: boolean; readonly since: string; readonly wakeAt: string | null; })[]; }

export type Throttle = { /** The quota, as the service names it. */ readonly name: string; /** Null while calls may go. */ readonly closedUntil: string | null; /** Calls that may go at once now. */ readonly concurrency: number; /** Calls under way. */ readonly calls: number; /** Calls that wait for the gate or for a place. */ readonly queued: number; /** Calls that the service throttled so far. */ readonly throttled: number; /** How long the gate was closed in all. */ readonly throttledSec: number; }

export type Tick = { readonly id: number; readonly runbookVersion: number; readonly startedBy: string; readonly startedAt: string; readonly endedAt: string | null; readonly outcome: 'running' | 'good' | 'failed' | 'abandoned'; readonly rowCount: number | null; readonly groupCount: number | null; /** Changes made, by kind. */ readonly counts: { readonly [key: string]: number }; readonly error: string | null; }

export type TickReport = { readonly runbookName: string; readonly outcome: 'good' | 'failed' | 'abandoned'; /** Changes made, by kind. */ readonly counts: { readonly [key: string]: number }; readonly error: string | null; /** What waits for a person: reviews, a failing source, rows left out. */ readonly needs: readonly (Need)[]; }

export type Ticks = { readonly ticks: readonly (Tick)[]; readonly next: string | null; }

export type UndoCounts = { readonly total: number; /** Taken back, or passed by a person. */ readonly done: number; readonly failed: number; /** Cancelled, because one after it failed. */ readonly left: number; readonly open: number; }

export type UndoProgress = { readonly members: UndoCounts; readonly init: UndoCounts; }

export type UndoneInit = { readonly isDryRun: boolean; readonly items: readonly (Effect)[]; }

export type UndoneMembers = { readonly batchId: number; readonly isDryRun: boolean; /** To come back to it: `GET /api/actions/{actionId}`. Null when nothing was tried. */ readonly actionId: number | null; readonly selectedCount: number; /** The first 100. */ readonly selected: readonly ({ readonly memberId: number; readonly memberKey: string; })[]; /** All selected; in a dry run at least the first 500. */ readonly triedCount: number; readonly doneCount: number; /** The first 100. */ readonly done: readonly ({ readonly memberId: number; readonly memberKey: string; })[]; readonly refusedCount: number; /** The first 100. */ readonly refused: readonly ({ readonly memberId: number; readonly memberKey: string; readonly reason: string; })[]; readonly approvalsLost: ApprovalsLost; /** In the order in which they are undone, with what stays and why. */ readonly effects: readonly ({ readonly step: string; /** The inverse that runs. */ readonly functionName: string | null; /** `goes_with`: its object goes by another undo; `beyond`: done before the point of no return; `unknown`: the worker did not tell what it changed. */ readonly state: 'to_undo' | 'undoing' | 'undone' | 'skipped' | 'rolled_back' | 'goes_with' | 'beyond' | 'irreversible' | 'unknown'; readonly note: string | null; /** What was done before it stays, unless a person asks for more. */ readonly isPointOfNoReturn: boolean; readonly memberCount: number; })[]; }

export type Wall = { readonly at: string; readonly isSomebodyNeeded: boolean; /** Of the first need; null when nobody is needed. */ readonly severity: 'urgent' | 'soon' | 'later' | 'planned' | null; /** The same sentence wherever it is asked; UTC. */ readonly headline: string; /** The greatest harm first. */ readonly needs: readonly (Need)[]; /** Holds that a person set. Nobody is needed for them. */ readonly planned: readonly (Need)[]; /** False when there are more. */ readonly isEveryNeedListed: boolean; /** Batches at work, batches to come by start, batches that ended in the last 24 hours. */ readonly batches: readonly (WallBatch)[]; /** False when there are more than 200. */ readonly isComplete: boolean; readonly openReviews: { readonly removal: number; readonly move: number; readonly join: number; }; /** Holds of every scope. */ readonly holdCount: number; readonly sources: readonly (SourceOutlook)[]; readonly workers: readonly (WorkerOutlook)[]; }

export type WallBatch = { readonly batch: Batch; /** In order of time, without superseded ones. */ readonly phases: readonly (WallPhase)[]; readonly steps: { /** Steps of the phases that have started. */ readonly total: number; readonly open: number; readonly passed: number; readonly failed: number; }; readonly throughput: { readonly stepsPerMin: number; /** The measured time span. */ readonly overSec: number; }; /** The p50; null where it would be a guess. */ readonly endsAt: string | null; /** Nine of ten such nights end by then. */ readonly p90: string | null; /** What the estimate rests on, or why there is none. */ readonly because: string; /** Phases that are forecast to miss their time. */ readonly misses: readonly (ForecastMiss)[]; }

export type WallPhase = { readonly id: number; readonly phaseName: string; readonly status: 'pending' | 'dispatched' | 'completed' | 'failed' | 'skipped' | 'superseded' | 'cancelled'; readonly offsetMinutes: number; readonly dueAt: string | null; readonly startedAt: string | null; readonly endedAt: string | null; readonly membersTotal: number; readonly membersPassed: number; readonly membersFailed: number; }

export type Worker = { readonly workerId: string; /** False when steps wait for a worker that never announced itself. */ readonly isKnown: boolean; readonly isConfigured: boolean; /** No sign of life for three minutes. */ readonly isSilent: boolean; /** `draining`: held, and jobs are still outstanding; `drained`: held, and none is. A hold drains a worker. */ readonly state: 'ok' | 'silent' | 'unknown' | 'draining' | 'drained'; /** A hold of this worker alone. */ readonly held: Hold | null; readonly version: string | null; /** Jobs it runs at once, with the slots that waiting jobs lend. */ readonly slots: number | null; readonly functions: readonly (string)[]; /** Quotas of the services it calls, as announced last, at most a minute ago. */ readonly throttles: readonly (Throttle)[]; /** When the last of its closed quotas opens; null while all are open. */ readonly throttledUntil: string | null; readonly firstSeenAt: string | null; readonly lastSeenAt: string | null; /** Mean run time of its latest jobs. */ readonly jobMs: number | null; /** The most that its job limit may be. */ readonly maxOutstanding: number; /** Jobs it may have outstanding now: one for each slot and those it finishes in two seconds, within the limit. */ readonly jobLimit: number; /** Outstanding jobs. */ readonly outstanding: number; /** When the oldest of them was sent. */ readonly oldestSentAt: string | null; /** Steps that wait for a free slot; counted up to 10000. */ readonly waiting: number; }

export type WorkerOutlook = { readonly workerId: string; readonly isKnown: boolean; readonly isSilent: boolean; readonly state: 'ok' | 'silent' | 'unknown' | 'draining' | 'drained'; readonly lastSeenAt: string | null; readonly slots: number | null; /** Outstanding jobs. */ readonly busy: number; /** Steps that wait for a free slot. */ readonly waiting: number; }

export type Workers = { readonly workers: readonly (Worker)[]; }

export interface Endpoints {
  /** Publish the next version of a runbook, or dry-run it. */
  readonly 'POST /api/runbooks': {
    readonly query: { }
    readonly body: { /** Optional; must match the name in the text. */ readonly name?: string | undefined; readonly yamlContent: string; readonly overdueBehavior?: 'ignore' | 'rerun' | undefined; readonly rerunInit?: boolean | undefined; readonly dryRun?: boolean | undefined; /** Publish although a step lacks a required parameter of its function. */ readonly force?: boolean | undefined; readonly reason?: string | undefined; }
    readonly answer: Published
  }
  /** List runbooks by name, each with its active version. */
  readonly 'GET /api/runbooks': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; /** Part of the name. */ readonly search?: string | undefined; /** Include runbooks without an active version, with their newest. */ readonly withInactive?: boolean | 'true' | 'false' | undefined; }
    readonly body: Record<string, never>
    readonly answer: { readonly runbooks: readonly (RunbookLine)[]; /** Rows on all pages. */ readonly total: number; /** False when `total` is a lower bound. */ readonly isTotalExact: boolean; /** The cursor of the next page; null on the last. */ readonly next: string | null; }
  }
  /** Show the active version of a runbook with its text. */
  readonly 'GET /api/runbooks/{name}': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Runbook
  }
  /** List the versions of a runbook, newest first. */
  readonly 'GET /api/runbooks/{name}/versions': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: { readonly versions: readonly (RunbookVersion)[]; /** Rows on all pages. */ readonly total: number; /** False when `total` is a lower bound. */ readonly isTotalExact: boolean; /** The cursor of the next page; null on the last. */ readonly next: string | null; }
  }
  /** Show a version of a runbook with its text. */
  readonly 'GET /api/runbooks/{name}/versions/{version}': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Runbook
  }
  /** Deactivate a version; unfinished batches finish. */
  readonly 'DELETE /api/runbooks/{name}/versions/{version}': {
    readonly query: { readonly reason?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: DeactivatedVersion
  }
  /** Show whether the scheduler runs the runbook’s query, and who decided it. */
  readonly 'GET /api/runbooks/{name}/automation': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Automation
  }
  /** Turn automation on or off; unfinished batches continue either way. */
  readonly 'PUT /api/runbooks/{name}/automation': {
    readonly query: { }
    readonly body: { readonly enabled: boolean; readonly reason?: string | undefined; }
    readonly answer: Automation
  }
  /** List data sources with their last and next tick. */
  readonly 'GET /api/sources': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: { readonly sources: readonly (Source)[]; /** Rows on all pages. */ readonly total: number; /** False when `total` is a lower bound. */ readonly isTotalExact: boolean; /** The cursor of the next page; null on the last. */ readonly next: string | null; }
  }
  /** Query the runbook’s data source now and change nothing. */
  readonly 'POST /api/runbooks/{name}/query/preview': {
    readonly query: { }
    readonly body: { readonly yamlContent?: string | undefined; }
    readonly answer: Preview
  }
  /** Get a member file template with the runbook’s columns and a sample row. */
  readonly 'GET /api/runbooks/{name}/template': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: string
  }
  /** Plan a run: phases with times, steps with examples. */
  readonly 'POST /api/runbooks/{name}/plan': {
    readonly query: { }
    readonly body: { /** An unpublished text; the active version by default. */ readonly yamlContent?: string | undefined; readonly startTime?: string | undefined; readonly batchId?: number | undefined; /** The columns of a made-up member. */ readonly member?: { readonly [key: string]: Json } | undefined; }
    readonly answer: Plan
  }
  /** Preview a message of a runbook as a person would get it. */
  readonly 'POST /api/runbooks/{name}/preview-message': {
    readonly query: { }
    readonly body: { /** An unpublished text; the active version by default. */ readonly yamlContent?: string | undefined; /** By default the first. */ readonly message?: string | undefined; readonly language?: string | undefined; readonly startTime?: string | undefined; /** The columns of a made-up member. */ readonly member?: { readonly [key: string]: Json } | undefined; }
    readonly answer: MessagePreview
  }
  /** Preview a message as a member would get it now. */
  readonly 'GET /api/batches/{batchId}/members/{memberId}/preview-message': {
    readonly query: { readonly message?: string | undefined; readonly language?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: MessagePreview
  }
  /** Rehearse a runbook with these people. */
  readonly 'POST /api/rehearsals': {
    readonly query: { }
    readonly body: { readonly yamlContent: string; /** Rows as the data source returns them. */ readonly members: readonly ({ readonly [key: string]: Json })[]; readonly faults?: readonly (string)[] | undefined; /** Default: an hour before the first phase. */ readonly startAt?: string | undefined; readonly seed?: number | undefined; readonly slots?: number | undefined; }
    readonly answer: Rehearsal
  }
  /** List the newest rehearsals. */
  readonly 'GET /api/rehearsals': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Rehearsals
  }
  /** Rehearse a batch as it is and with a change. */
  readonly 'POST /api/batches/{batchId}/what-if': {
    readonly query: { }
    readonly body: { /** Of every worker. */ readonly slots?: number | undefined; /** Of single workers. */ readonly workerSlots?: { readonly [key: string]: number } | undefined; /** Only so many, the first of the batch. */ readonly people?: number | undefined; /** Keys of people who stay out. */ readonly without?: readonly (string)[] | undefined; readonly faults?: readonly (string)[] | undefined; readonly seed?: number | undefined; }
    readonly answer: Rehearsal
  }
  /** Show a rehearsal with its report. */
  readonly 'GET /api/rehearsals/{rehearsalId}': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: RehearsalWithReport
  }
  /** Cancel a running rehearsal, or delete an ended one. */
  readonly 'DELETE /api/rehearsals/{rehearsalId}': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: RehearsalDeleted
  }
  /** List batches, newest first by default. */
  readonly 'GET /api/batches': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; readonly runbook?: string | undefined; /** One or more of detected, init_dispatched, active, completed, failed, cancelled, comma-separated. */ readonly status?: readonly ('detected' | 'init_dispatched' | 'active' | 'completed' | 'failed' | 'cancelled')[] | string | undefined; readonly manual?: boolean | 'true' | 'false' | undefined; readonly held?: boolean | 'true' | 'false' | undefined; readonly startsFrom?: string | undefined; readonly startsBefore?: string | undefined; readonly sort?: 'newest' | 'oldest' | 'start' | 'start_latest' | undefined; }
    readonly body: Record<string, never>
    readonly answer: { readonly batches: readonly (Batch)[]; /** Rows on all pages. */ readonly total: number; /** False when `total` is a lower bound. */ readonly isTotalExact: boolean; /** The cursor of the next page; null on the last. */ readonly next: string | null; }
  }
  /** Create a manual batch from a member file (CSV). */
  readonly 'POST /api/batches': {
    readonly query: { readonly dryRun?: boolean | 'true' | 'false' | undefined; }
    readonly body: FormData
    readonly answer: CreatedBatch
  }
  /** Show a batch with its phases and init steps. */
  readonly 'GET /api/batches/{batchId}': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: BatchPage
  }
  /** List the phases of a batch with step and member counts. */
  readonly 'GET /api/batches/{batchId}/phases': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Phases
  }
  /** Get the report of a batch as JSON, CSV or a page. */
  readonly 'GET /api/batches/{batchId}/report': {
    readonly query: { readonly format?: 'json' | 'csv' | 'html' | undefined; /** The zone of the times that people read. */ readonly zone?: string | undefined; /** Also history, and who did what: not for a customer. */ readonly internal?: boolean | 'true' | 'false' | undefined; }
    readonly body: Record<string, never>
    readonly answer: Json
  }
  /** Get the run sheet of a batch, a page to print. */
  readonly 'GET /api/batches/{batchId}/run-sheet': {
    readonly query: { /** The zone of the times that people read. */ readonly zone?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: Json
  }
  /** Get everything about a batch as one signed archive. */
  readonly 'GET /api/batches/{batchId}/evidence': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Json
  }
  /** Show the public key that signs evidence packs. */
  readonly 'GET /api/evidence/key': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: EvidenceKey
  }
  /** List the members of a batch by status, key or failure. */
  readonly 'GET /api/batches/{batchId}/members': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; /** One or more of active, failed, removed, comma-separated. */ readonly status?: readonly ('active' | 'failed' | 'removed')[] | string | undefined; /** One or more of scheduled, preparing, cutting_over, cut_over, done, failed, rolled_back, stopped, removed, comma-separated. */ readonly state?: readonly ('scheduled' | 'preparing' | 'cutting_over' | 'cut_over' | 'done' | 'failed' | 'rolled_back' | 'stopped' | 'removed')[] | string | undefined; /** The current step is in this phase. */ readonly phase?: string | undefined; /** The current step has this name. */ readonly step?: string | undefined; /** Start of the key. */ readonly key?: string | undefined; /** Part of the key. */ readonly search?: string | undefined; readonly failedPhase?: string | undefined; readonly failedStep?: string | undefined; /** Part of the error message. */ readonly error?: string | undefined; /** The `pattern` of a failure group. */ readonly pattern?: string | undefined; /** With or without a hold of their own. */ readonly held?: boolean | 'true' | 'false' | undefined; readonly sort?: 'id' | 'key' | undefined; }
    readonly body: Record<string, never>
    readonly answer: { readonly members: readonly (Member)[]; /** Rows on all pages. */ readonly total: number; /** False when `total` is a lower bound. */ readonly isTotalExact: boolean; /** The cursor of the next page; null on the last. */ readonly next: string | null; }
  }
  /** Add the members of a file (CSV) to a manual batch; they catch up on started phases. */
  readonly 'POST /api/batches/{batchId}/members': {
    readonly query: { readonly dryRun?: boolean | 'true' | 'false' | undefined; }
    readonly body: FormData
    readonly answer: AddedMembers
  }
  /** Remove a member: open steps are cancelled, removal steps run. */
  readonly 'DELETE /api/batches/{batchId}/members/{memberId}': {
    readonly query: { readonly reason?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: RemovedMember
  }
  /** Show a member with its data, outputs, steps, attempts and events. */
  readonly 'GET /api/batches/{batchId}/members/{memberId}': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: MemberDetail
  }
  /** Find people over all batches by key, address, another value or state. */
  readonly 'GET /api/members': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; /** Key, address or other value. */ readonly text?: string | undefined; /** One or more of scheduled, preparing, cutting_over, cut_over, done, failed, rolled_back, stopped, removed, comma-separated. */ readonly state?: readonly ('scheduled' | 'preparing' | 'cutting_over' | 'cut_over' | 'done' | 'failed' | 'rolled_back' | 'stopped' | 'removed')[] | string | undefined; /** Only people who have still to be cut over. */ readonly notCutOver?: boolean | 'true' | 'false' | undefined; readonly runbook?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: FoundMembers
  }
  /** List the steps of a batch by status, phase, step, member, worker, error or time. */
  readonly 'GET /api/batches/{batchId}/steps': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; /** One or more of phase, init, rollback, removal, undo, comma-separated. */ readonly kind?: readonly ('phase' | 'init' | 'rollback' | 'removal' | 'undo')[] | string | undefined; /** One or more of pending, dispatched, polling, succeeded, failed, poll_timeout, rolled_back, cancelled, skipped, comma-separated. */ readonly status?: readonly ('pending' | 'dispatched' | 'polling' | 'succeeded' | 'failed' | 'poll_timeout' | 'rolled_back' | 'cancelled' | 'skipped')[] | string | undefined; readonly phase?: string | undefined; readonly step?: string | undefined; readonly worker?: string | undefined; readonly memberId?: number | string | undefined; /** The full key. */ readonly memberKey?: string | undefined; /** Part of the error message. */ readonly error?: string | undefined; readonly endedFrom?: string | undefined; readonly endedBefore?: string | undefined; readonly sort?: 'id' | 'id_latest' | undefined; }
    readonly body: Record<string, never>
    readonly answer: { readonly steps: readonly (Step)[]; /** Rows on all pages. */ readonly total: number; /** False when `total` is a lower bound. */ readonly isTotalExact: boolean; /** The cursor of the next page; null on the last. */ readonly next: string | null; }
  }
  /** Start the next phase of a manual batch. */
  readonly 'POST /api/batches/{batchId}/advance': {
    readonly query: { }
    readonly body: { readonly expectedPhase: string; readonly allowStragglers?: boolean | undefined; readonly reason?: string | undefined; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: DecidedBatch
  }
  /** Cancel a batch: open steps are cancelled, running rollbacks finish. */
  readonly 'POST /api/batches/{batchId}/cancel': {
    readonly query: { }
    readonly body: { readonly reason: string; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: DecidedBatch
  }
  /** Put a batch on hold: no new jobs, and queued jobs are withdrawn. */
  readonly 'POST /api/batches/{batchId}/hold': {
    readonly query: { }
    readonly body: { readonly reason?: string | undefined; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: HeldBatch
  }
  /** Record the reason for a hold: a batch. */
  readonly 'PUT /api/batches/{batchId}/hold': {
    readonly query: { }
    readonly body: { readonly reason: string; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: DecidedBatch
  }
  /** Resume a batch; time on hold does not count for retries and polls. */
  readonly 'POST /api/batches/{batchId}/resume': {
    readonly query: { }
    readonly body: { readonly reason: string; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: ResumedBatch
  }
  /** Restart a batch that failed in init. */
  readonly 'POST /api/batches/{batchId}/restart': {
    readonly query: { }
    readonly body: { readonly reason: string; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: DecidedBatch
  }
  /** Change the start of a batch; phases that have not started move with it. */
  readonly 'POST /api/batches/{batchId}/reschedule': {
    readonly query: { }
    readonly body: { readonly startTime: string; readonly allowOverdue?: boolean | undefined; readonly reason: string; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: RescheduledBatch
  }
  /** Send steps of a batch outside its change windows. */
  readonly 'POST /api/batches/{batchId}/override-window': {
    readonly query: { }
    readonly body: { readonly until: string | null; readonly reason: string; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: OverriddenBatch
  }
  /** Create a manual batch from another batch’s finished members. */
  readonly 'POST /api/batches/{batchId}/clone': {
    readonly query: { }
    readonly body: { /** Member statuses to clone. */ readonly statuses?: readonly ('active' | 'failed' | 'removed')[] | undefined; readonly reason: string; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: ClonedBatch
  }
  /** List the gates of a batch: readiness, failures, reviews, holds, decisions. */
  readonly 'GET /api/batches/{batchId}/gates': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Gates
  }
  /** Approve the start of a phase. */
  readonly 'POST /api/batches/{batchId}/gates/{phaseName}/approve': {
    readonly query: { }
    readonly body: { readonly reason: string; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: DecidedGate
  }
  /** Let a phase start with fewer ready members than its gate asks for. */
  readonly 'POST /api/batches/{batchId}/gates/{phaseName}/waive': {
    readonly query: { }
    readonly body: { readonly reason: string; readonly until: string; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: DecidedGate
  }
  /** Withdraw the caller's approval, or the waiver. */
  readonly 'POST /api/batches/{batchId}/gates/{phaseName}/withdraw': {
    readonly query: { }
    readonly body: { readonly kind?: 'approval' | 'waiver' | undefined; readonly reason: string; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: DecidedGate
  }
  /** List the holds in force, the widest first. */
  readonly 'GET /api/holds': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; /** One or more of system, runbook, worker, batch, member, comma-separated. */ readonly scope?: readonly ('system' | 'runbook' | 'worker' | 'batch' | 'member')[] | string | undefined; /** Only of this batch and its members. */ readonly batchId?: number | string | undefined; }
    readonly body: Record<string, never>
    readonly answer: { readonly holds: readonly (HoldInForce)[]; /** Rows on all pages. */ readonly total: number; /** False when `total` is a lower bound. */ readonly isTotalExact: boolean; /** The cursor of the next page; null on the last. */ readonly next: string | null; }
  }
  /** Hold the whole system: no new jobs, and queued jobs are withdrawn. */
  readonly 'POST /api/hold': {
    readonly query: { }
    readonly body: { readonly reason?: string | undefined; }
    readonly answer: Held
  }
  /** Record the reason for a hold: the whole system. */
  readonly 'PUT /api/hold': {
    readonly query: { }
    readonly body: { readonly reason: string; }
    readonly answer: HoldReason
  }
  /** Resume the whole system; time on hold does not count for retries and polls. */
  readonly 'POST /api/resume': {
    readonly query: { }
    readonly body: { readonly reason: string; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: Resumed
  }
  /** Hold all batches of a runbook: no new jobs, and queued jobs are withdrawn. */
  readonly 'POST /api/runbooks/{name}/hold': {
    readonly query: { }
    readonly body: { readonly reason?: string | undefined; }
    readonly answer: Held
  }
  /** Record the reason for a hold: all batches of a runbook. */
  readonly 'PUT /api/runbooks/{name}/hold': {
    readonly query: { }
    readonly body: { readonly reason: string; }
    readonly answer: HoldReason
  }
  /** Resume all batches of a runbook; time on hold does not count for retries and polls. */
  readonly 'POST /api/runbooks/{name}/resume': {
    readonly query: { }
    readonly body: { readonly reason: string; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: Resumed
  }
  /** Hold everything for a worker: no new jobs, and queued jobs are withdrawn. */
  readonly 'POST /api/workers/{workerId}/hold': {
    readonly query: { }
    readonly body: { readonly reason?: string | undefined; }
    readonly answer: Held
  }
  /** Record the reason for a hold: everything for a worker. */
  readonly 'PUT /api/workers/{workerId}/hold': {
    readonly query: { }
    readonly body: { readonly reason: string; }
    readonly answer: HoldReason
  }
  /** Resume everything for a worker; time on hold does not count for retries and polls. */
  readonly 'POST /api/workers/{workerId}/resume': {
    readonly query: { }
    readonly body: { readonly reason: string; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: Resumed
  }
  /** Hold a member: no new jobs, and queued jobs are withdrawn. */
  readonly 'POST /api/batches/{batchId}/members/{memberId}/hold': {
    readonly query: { }
    readonly body: { readonly reason?: string | undefined; }
    readonly answer: Held
  }
  /** Record the reason for a hold: a member. */
  readonly 'PUT /api/batches/{batchId}/members/{memberId}/hold': {
    readonly query: { }
    readonly body: { readonly reason: string; }
    readonly answer: HoldReason
  }
  /** Resume a member; time on hold does not count for retries and polls. */
  readonly 'POST /api/batches/{batchId}/members/{memberId}/resume': {
    readonly query: { }
    readonly body: { readonly reason: string; /** Return the same answer and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: Resumed
  }
  /** Say that the database was restored from a backup. */
  readonly 'POST /api/restored': {
    readonly query: { }
    readonly body: { readonly reason: string; }
    readonly answer: Restored
  }
  /** List jobs that are known to have run after the backup. */
  readonly 'GET /api/restored/ran-after-backup': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: { readonly jobs: readonly (RanAfterBackup)[]; /** Rows on all pages. */ readonly total: number; /** False when `total` is a lower bound. */ readonly isTotalExact: boolean; /** The cursor of the next page; null on the last. */ readonly next: string | null; readonly lastRestore: LastRestore; }
  }
  /** Retry failed members from the failed step or an earlier one. */
  readonly 'POST /api/batches/{batchId}/members/retry': {
    readonly query: { }
    readonly body: { readonly select: Selection; /** The number the caller saw; any other is refused. */ readonly expectedCount?: number | undefined; readonly reason: string; /** Change nobody when anybody is refused. */ readonly allOrNothing?: boolean | undefined; /** Show the selection and change nothing. */ readonly dryRun?: boolean | undefined; readonly fromStep?: string | undefined; }
    readonly answer: MembersOutcome
  }
  /** Redo a step and all later ones for members. */
  readonly 'POST /api/batches/{batchId}/members/redo': {
    readonly query: { }
    readonly body: { readonly select: Selection; /** The number the caller saw; any other is refused. */ readonly expectedCount?: number | undefined; readonly reason: string; /** Change nobody when anybody is refused. */ readonly allOrNothing?: boolean | undefined; /** Show the selection and change nothing. */ readonly dryRun?: boolean | undefined; readonly fromStep: string; }
    readonly answer: MembersOutcome
  }
  /** Skip a step of members; they continue after it. */
  readonly 'POST /api/batches/{batchId}/members/skip': {
    readonly query: { }
    readonly body: { readonly select: Selection; /** The number the caller saw; any other is refused. */ readonly expectedCount?: number | undefined; readonly reason: string; /** Change nobody when anybody is refused. */ readonly allOrNothing?: boolean | undefined; /** Show the selection and change nothing. */ readonly dryRun?: boolean | undefined; /** The step to pass; by default `failedStep`, or the step that failed. */ readonly step?: string | undefined; }
    readonly answer: MembersOutcome
  }
  /** Mark a step of members as done by hand, with outputs; they continue after it. */
  readonly 'POST /api/batches/{batchId}/members/done': {
    readonly query: { }
    readonly body: { readonly select: Selection; /** The number the caller saw; any other is refused. */ readonly expectedCount?: number | undefined; readonly reason: string; /** Change nobody when anybody is refused. */ readonly allOrNothing?: boolean | undefined; /** Show the selection and change nothing. */ readonly dryRun?: boolean | undefined; /** The step to pass; by default `failedStep`, or the step that failed. */ readonly step?: string | undefined; readonly outputs?: { readonly [key: string]: Json } | undefined; }
    readonly answer: MembersOutcome
  }
  /** Remove members: open steps are cancelled, removal steps run. */
  readonly 'POST /api/batches/{batchId}/members/remove': {
    readonly query: { }
    readonly body: { readonly select: Selection; /** The number the caller saw; any other is refused. */ readonly expectedCount?: number | undefined; readonly reason: string; /** Change nobody when anybody is refused. */ readonly allOrNothing?: boolean | undefined; /** Show the selection and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: MembersOutcome
  }
  /** Add removed members again, with the steps they had passed. */
  readonly 'POST /api/batches/{batchId}/members/readd': {
    readonly query: { }
    readonly body: { readonly select: Selection; /** The number the caller saw; any other is refused. */ readonly expectedCount?: number | undefined; readonly reason: string; /** Change nobody when anybody is refused. */ readonly allOrNothing?: boolean | undefined; /** Show the selection and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: MembersOutcome
  }
  /** Move members to another batch of the runbook, with their data, outputs and passed steps. */
  readonly 'POST /api/batches/{batchId}/members/move': {
    readonly query: { }
    readonly body: { readonly select: Selection; /** The number the caller saw; any other is refused. */ readonly expectedCount?: number | undefined; readonly reason: string; /** Change nobody when anybody is refused. */ readonly allOrNothing?: boolean | undefined; /** Show the selection and change nothing. */ readonly dryRun?: boolean | undefined; readonly toBatchId: number; }
    readonly answer: MembersOutcome
  }
  /** Roll back what members have passed, from a step or phase on. */
  readonly 'POST /api/batches/{batchId}/members/rollback': {
    readonly query: { }
    readonly body: { readonly select: Selection; /** The number the caller saw; any other is refused. */ readonly expectedCount?: number | undefined; readonly reason: string; /** Change nobody when anybody is refused. */ readonly allOrNothing?: boolean | undefined; /** Show the selection and change nothing. */ readonly dryRun?: boolean | undefined; readonly fromStep?: string | undefined; readonly fromPhase?: string | undefined; }
    readonly answer: RolledBackMembers
  }
  /** Set a variable of members, as if a step had returned it. */
  readonly 'POST /api/batches/{batchId}/members/variable': {
    readonly query: { }
    readonly body: { readonly select: Selection; /** The number the caller saw; any other is refused. */ readonly expectedCount?: number | undefined; readonly reason: string; /** Change nobody when anybody is refused. */ readonly allOrNothing?: boolean | undefined; /** Show the selection and change nothing. */ readonly dryRun?: boolean | undefined; readonly name: string; readonly value: Json; }
    readonly answer: MembersOutcome
  }
  /** List what was changed for a member, with the inverse of each change, the last first. */
  readonly 'GET /api/batches/{batchId}/members/{memberId}/effects': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Effects
  }
  /** Undo what was changed for members, the last change first. */
  readonly 'POST /api/batches/{batchId}/members/undo': {
    readonly query: { }
    readonly body: { readonly select: Selection; /** The number the caller saw; any other is refused. */ readonly expectedCount?: number | undefined; readonly reason: string; /** Change nobody when anybody is refused. */ readonly allOrNothing?: boolean | undefined; /** Show the selection and change nothing. */ readonly dryRun?: boolean | undefined; /** Also undo what was done before the point of no return. */ readonly pastNoReturn?: boolean | undefined; }
    readonly answer: UndoneMembers
  }
  /** Undo what the init steps of a batch changed. */
  readonly 'POST /api/batches/{batchId}/undo-init': {
    readonly query: { }
    readonly body: { readonly reason: string; /** Also undo what was done before the point of no return. */ readonly pastNoReturn?: boolean | undefined; /** List the plan and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: UndoneInit
  }
  /** Count the undo steps of a batch, those of its members and those of init. */
  readonly 'GET /api/batches/{batchId}/undo': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: UndoProgress
  }
  /** Hold members: no new jobs for them, and queued jobs are withdrawn. */
  readonly 'POST /api/batches/{batchId}/members/hold': {
    readonly query: { }
    readonly body: { readonly select: Selection; /** The number the caller saw; any other is refused. */ readonly expectedCount?: number | undefined; readonly reason?: string | undefined; /** Change nobody when anybody is refused. */ readonly allOrNothing?: boolean | undefined; /** Show the selection and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: HeldMembers
  }
  /** Resume held members; time on hold does not count for retries and polls. */
  readonly 'POST /api/batches/{batchId}/members/resume': {
    readonly query: { }
    readonly body: { readonly select: Selection; /** The number the caller saw; any other is refused. */ readonly expectedCount?: number | undefined; readonly reason: string; /** Change nobody when anybody is refused. */ readonly allOrNothing?: boolean | undefined; /** Show the selection and change nothing. */ readonly dryRun?: boolean | undefined; }
    readonly answer: ResumedMembers
  }
  /** List changes of many members, newest first. */
  readonly 'GET /api/actions': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; readonly batchId?: number | string | undefined; /** Such as `members.retry`. */ readonly action?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: { readonly actions: readonly (BulkAction)[]; /** Rows on all pages. */ readonly total: number; /** False when `total` is a lower bound. */ readonly isTotalExact: boolean; /** The cursor of the next page; null on the last. */ readonly next: string | null; }
  }
  /** Show a change of many members and what has become of them. */
  readonly 'GET /api/actions/{actionId}': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: BulkActionNow
  }
  /** List the members of a change and where they stand now. */
  readonly 'GET /api/actions/{actionId}/members': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; readonly result?: 'done' | 'refused' | undefined; /** One or more of scheduled, preparing, cutting_over, cut_over, done, failed, rolled_back, stopped, removed, comma-separated. */ readonly state?: readonly ('scheduled' | 'preparing' | 'cutting_over' | 'cut_over' | 'done' | 'failed' | 'rolled_back' | 'stopped' | 'removed')[] | string | undefined; }
    readonly body: Record<string, never>
    readonly answer: { readonly members: readonly (ActionMember)[]; /** Rows on all pages. */ readonly total: number; /** False when `total` is a lower bound. */ readonly isTotalExact: boolean; /** The cursor of the next page; null on the last. */ readonly next: string | null; }
  }
  /** Show a step with its parameters, results and attempts. */
  readonly 'GET /api/steps/{stepId}': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: StepPage
  }
  /** Retry a failed step. */
  readonly 'POST /api/steps/{stepId}/retry': {
    readonly query: { }
    readonly body: { readonly reason: string; readonly dryRun?: boolean | undefined; }
    readonly answer: DecidedStep
  }
  /** Skip a step; its member continues after it. */
  readonly 'POST /api/steps/{stepId}/skip': {
    readonly query: { }
    readonly body: { readonly reason: string; readonly dryRun?: boolean | undefined; }
    readonly answer: DecidedStep
  }
  /** Mark a step as done by hand, with outputs; its member continues after it. */
  readonly 'POST /api/steps/{stepId}/done': {
    readonly query: { }
    readonly body: { readonly reason: string; readonly dryRun?: boolean | undefined; readonly outputs?: { readonly [key: string]: Json } | undefined; }
    readonly answer: DecidedStep
  }
  /** Accept a late success as the step’s result. */
  readonly 'POST /api/steps/{stepId}/accept-late': {
    readonly query: { }
    readonly body: { readonly reason: string; readonly dryRun?: boolean | undefined; }
    readonly answer: DecidedStep
  }
  /** List messages that could not be handled, oldest first. */
  readonly 'GET /api/dead-letters': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; /** All topics by default. */ readonly topic?: 'orchestrator-events' | 'worker-jobs' | 'worker-results' | undefined; /** Only jobs of this worker. */ readonly worker?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: DeadLetters
  }
  /** Show a dead letter with its body. */
  readonly 'GET /api/dead-letters/{deadLetterId}': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: DeadLetter
  }
  /** Send a dead letter again, to its own subscription. */
  readonly 'POST /api/dead-letters/{deadLetterId}/replay': {
    readonly query: { }
    readonly body: { readonly reason: string; }
    readonly answer: DecidedDeadLetter
  }
  /** Discard a dead letter; it is kept as a record. */
  readonly 'POST /api/dead-letters/{deadLetterId}/discard': {
    readonly query: { }
    readonly body: { readonly reason: string; }
    readonly answer: DecidedDeadLetter
  }
  /** List source changes that wait for a person. */
  readonly 'GET /api/reviews': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; readonly runbook?: string | undefined; readonly batchId?: number | string | undefined; readonly kind?: 'removal' | 'move' | 'join' | undefined; /** Only to this time of the source. */ readonly toTime?: string | undefined; readonly withDismissed?: boolean | 'true' | 'false' | undefined; }
    readonly body: Record<string, never>
    readonly answer: Reviews
  }
  /** Make the changes that the source asks for. */
  readonly 'POST /api/reviews/approve': {
    readonly query: { }
    readonly body: { readonly reviewIds: readonly (number)[]; readonly reason: string; readonly dryRun?: boolean | undefined; /** Refuse reviews of any other kind. */ readonly kind?: 'removal' | 'move' | 'join' | undefined; /** Only for moves. */ readonly choice?: 'reschedule' | 'move' | undefined; /** Only for moves. */ readonly allowOverdue?: boolean | undefined; }
    readonly answer: DecidedReviews
  }
  /** Keep everything as it is, against the source. */
  readonly 'POST /api/reviews/dismiss': {
    readonly query: { }
    readonly body: { readonly reviewIds: readonly (number)[]; readonly reason: string; readonly dryRun?: boolean | undefined; }
    readonly answer: DecidedReviews
  }
  /** List what needs a person, the greatest harm first, in all or for one batch or runbook. */
  readonly 'GET /api/needs': {
    readonly query: { readonly runbook?: string | undefined; readonly batchId?: number | string | undefined; }
    readonly body: Record<string, never>
    readonly answer: Needs
  }
  /** List messages to people, newest first. */
  readonly 'GET /api/notifications': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; readonly channel?: string | undefined; readonly status?: 'waiting' | 'sent' | 'failed' | undefined; }
    readonly body: Record<string, never>
    readonly answer: Notifications
  }
  /** Show a message and what became of it. */
  readonly 'GET /api/notifications/{notificationId}': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Notification
  }
  /** List the open conditions that a rule names, oldest first. */
  readonly 'GET /api/conditions': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: Conditions
  }
  /** List the channels of notifications, which fail, and what each hears of. */
  readonly 'GET /api/channels': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Channels
  }
  /** Send a test message to a channel. */
  readonly 'POST /api/channels/{channel}/test': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Notification
  }
  /** Show whether somebody is needed, what runs and what comes next, over all batches. */
  readonly 'GET /api/status': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Status
  }
  /** Summarize a batch: progress, throughput, estimated end. */
  readonly 'GET /api/batches/{batchId}/summary': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: BatchSummary
  }
  /** Forecast the end of each phase, and which will miss its time. */
  readonly 'GET /api/batches/{batchId}/forecast': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: BatchForecast
  }
  /** List failures, grouped by messages that differ only in ids, times and addresses. */
  readonly 'GET /api/batches/{batchId}/failures': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Failures
  }
  /** List blocked work and why it is blocked. */
  readonly 'GET /api/batches/{batchId}/stuck': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Stuck
  }
  /** List failures over all batches, the same failure as one group. */
  readonly 'GET /api/failures': {
    readonly query: { readonly runbook?: string | undefined; /** Include batches that ended since then; by default 24 hours. */ readonly endedSince?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: FailuresOfBatches
  }
  /** List the ticks of the runbook’s source, newest first; kept for a month. */
  readonly 'GET /api/runbooks/{name}/ticks': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: Ticks
  }
  /** Query the runbook’s data source now and apply what changed. */
  readonly 'POST /api/runbooks/{name}/ticks': {
    readonly query: { }
    readonly body: { readonly reason?: string | undefined; }
    readonly answer: TickReport
  }
  /** List unusable rows and changes not made, as of the last good tick. */
  readonly 'GET /api/runbooks/{name}/issues': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: SourceIssues
  }
  /** List what happened in a batch or to a member, and why. */
  readonly 'GET /api/batches/{batchId}/events': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; readonly memberId?: number | string | undefined; /** One or more of system, runbook, batch, phase, member, step, worker, comma-separated. */ readonly entity?: readonly ('system' | 'runbook' | 'batch' | 'phase' | 'member' | 'step' | 'worker')[] | string | undefined; readonly sort?: 'newest' | 'oldest' | undefined; }
    readonly body: Record<string, never>
    readonly answer: { readonly events: readonly (Event)[]; /** Rows on all pages. */ readonly total: number; /** False when `total` is a lower bound. */ readonly isTotalExact: boolean; /** The cursor of the next page; null on the last. */ readonly next: string | null; }
  }
  /** Stream events as they happen (server-sent events). */
  readonly 'GET /api/events': {
    readonly query: { /** The id of your last event; 0 streams from the beginning. */ readonly after?: number | string | undefined; readonly batchId?: number | string | undefined; readonly memberId?: number | string | undefined; /** One or more of system, runbook, batch, phase, member, step, worker, comma-separated. */ readonly entity?: readonly ('system' | 'runbook' | 'batch' | 'phase' | 'member' | 'step' | 'worker')[] | string | undefined; }
    readonly body: Record<string, never>
    readonly answer: Json
  }
  /** List workers with functions and load. */
  readonly 'GET /api/workers': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Workers
  }
  /** Show a worker with functions, load and throttling. */
  readonly 'GET /api/workers/{workerId}': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Worker
  }
  /** List the functions of workers with their parameters. */
  readonly 'GET /api/catalogues': {
    readonly query: { /** `next` of the previous page. */ readonly cursor?: string | undefined; /** Only of this worker. */ readonly workerId?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: FunctionCatalogues
  }
  /** List the database roles with missing and needless rights. */
  readonly 'GET /api/database-roles': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: DatabaseRoles
  }
  /** List who did what, newest first. */
  readonly 'GET /api/audit': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; readonly actor?: string | undefined; readonly action?: string | undefined; readonly subject?: string | undefined; /** False leaves out reads of personal data (default: true). */ readonly reads?: boolean | 'true' | 'false' | undefined; readonly from?: string | undefined; readonly before?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: { readonly entries: readonly (AuditRow)[]; /** Rows on all pages. */ readonly total: number; /** False when `total` is a lower bound. */ readonly isTotalExact: boolean; /** The cursor of the next page; null on the last. */ readonly next: string | null; }
  }
  /** Verify the hash chain, from the first kept row to the last sealed one. */
  readonly 'GET /api/audit/verification': {
    readonly query: { readonly sealed?: number | string | undefined; readonly hash?: string | undefined; }
    readonly body: Record<string, never>
    readonly answer: AuditVerdict
  }
  /** Show the wall: every current batch, what needs a person, what comes next. */
  readonly 'GET /api/now': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Wall
  }
  /** Show members by steps, a window of rows at a time. */
  readonly 'GET /api/batches/{batchId}/grid': {
    readonly query: { /** The number of the first row, from 0. */ readonly from?: number | string | undefined; readonly limit?: number | string | undefined; readonly ids?: readonly (number)[] | string | undefined; }
    readonly body: Record<string, never>
    readonly answer: Grid
  }
  /** Count members by steps, with neighbouring members in one row. */
  readonly 'GET /api/batches/{batchId}/grid/overview': {
    readonly query: { readonly rows?: number | string | undefined; }
    readonly body: Record<string, never>
    readonly answer: GridOverview
  }
  /** List the messages to the members of a batch, by message, language or state. */
  readonly 'GET /api/batches/{batchId}/messages': {
    readonly query: { readonly limit?: number | string | undefined; /** `next` of the previous page. */ readonly cursor?: string | undefined; readonly state?: 'sent' | 'correction_owed' | 'not_sent' | 'failed' | undefined; readonly message?: string | undefined; readonly language?: string | undefined; readonly memberId?: number | string | undefined; /** Part of the member’s key. */ readonly search?: string | undefined; readonly sort?: 'id' | 'id_latest' | 'key' | undefined; }
    readonly body: Record<string, never>
    readonly answer: { readonly messages: readonly (MemberMessage)[]; /** Rows on all pages. */ readonly total: number; /** False when `total` is a lower bound. */ readonly isTotalExact: boolean; /** The cursor of the next page; null on the last. */ readonly next: string | null; }
  }
  /** Count the messages to the members of a batch. */
  readonly 'GET /api/batches/{batchId}/messages/counts': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: MemberMessageCounts
  }
  /** Check that the process is alive. */
  readonly 'GET /api/health': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: { readonly status: string; }
  }
  /** Check database, schema, bus, orchestrator and clock. */
  readonly 'GET /api/ready': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Readiness
  }
  /** Show how clients sign in. */
  readonly 'GET /api/sign-in': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: SignIn
  }
  /** Prove that this API has the local token, before a caller sends it. */
  readonly 'GET /api/sign-in/proof': {
    readonly query: { readonly nonce: string; }
    readonly body: Record<string, never>
    readonly answer: Proof
  }
  /** Show your identity and roles. */
  readonly 'GET /api/me': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Me
  }
  /** Get the OpenAPI 3.1 document. */
  readonly 'GET /api/openapi.json': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: Json
  }
  /** Get the API documentation as a page. */
  readonly 'GET /api/docs': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: string
  }
  /** Get metrics for Prometheus. */
  readonly 'GET /metrics': {
    readonly query: { }
    readonly body: Record<string, never>
    readonly answer: string
  }
}

export type ApiCode =
  | 'INTERNAL'
  | 'USAGE'
  | 'REFUSED'
  | 'CONFIG_INVALID'
  | 'WINDOWS_FILE_INVALID'
  | 'JOB_KEY_UNUSABLE'
  | 'FOLDER_UNWRITABLE'
  | 'FOLDER_UNSAFE'
  | 'FILE_UNREADABLE'
  | 'FILE_EXISTS'
  | 'FILE_UNWRITABLE'
  | 'MEMORY_TOO_SMALL'
  | 'PORT_UNUSABLE'
  | 'SERVICE_STILL_RUNNING'
  | 'TELEMETRY_PACKAGE_MISSING'
  | 'ADDRESS_UNUSABLE'
  | 'HOST_REFUSED'
  | 'NO_SUCH_ENDPOINT'
  | 'METHOD_REFUSED'
  | 'REQUEST_INVALID'
  | 'REQUEST_UNREADABLE'
  | 'BODY_TOO_LARGE'
  | 'MEDIA_TYPE_UNKNOWN'
  | 'ENCODING_REFUSED'
  | 'HEADERS_TOO_LARGE'
  | 'REQUEST_TOO_SLOW'
  | 'CURSOR_INVALID'
  | 'RATE_LIMITED'
  | 'UPLOADS_BUSY'
  | 'RUNBOOKS_BUSY'
  | 'RUNBOOK_TOO_COSTLY'
  | 'CALLER_BUSY'
  | 'SEARCH_TOO_SLOW'
  | 'SEARCHES_BUSY'
  | 'TRY_AGAIN'
  | 'KEY_REUSED'
  | 'LISTENERS_FULL'
  | 'LISTENERS_OF_PERSON_FULL'
  | 'NOT_SIGNED_IN'
  | 'TOKEN_REFUSED'
  | 'NOT_ALLOWED'
  | 'SIGN_IN_UNAVAILABLE'
  | 'SIGN_IN_NOT_OFFERED'
  | 'SIGN_IN_FAILED'
  | 'SIGN_IN_LOCAL'
  | 'SIGN_IN_NEEDED'
  | 'LOCAL_TOKEN_UNFIT'
  | 'ISSUER_UNREACHABLE'
  | 'API_NOT_SECURE'
  | 'API_EXPOSED'
  | 'API_UNREACHABLE'
  | 'API_NOT_UNDERSTOOD'
  | 'API_UNPROVEN'
  | 'INSTANCE_UNCLEAR'
  | 'INSTANCE_UNKNOWN'
  | 'CLIENT_SETTING_INVALID'
  | 'PROFILE_UNKNOWN'
  | 'CONFIRMATION_NEEDED'
  | 'CONFIRMATION_REFUSED'
  | 'WAIT_TIMED_OUT'
  | 'WAIT_DISAPPOINTED'
  | 'WAIT_STOPPED'
  | 'RUNBOOK_NOT_FOUND'
  | 'RUNBOOK_UNKNOWN'
  | 'RUNBOOK_VERSION_NOT_FOUND'
  | 'RUNBOOK_INVALID'
  | 'RUNBOOK_NAME_DIFFERS'
  | 'MESSAGE_NOT_FOUND'
  | 'VARIABLE_RESERVED'
  | 'SOURCE_NOT_CONFIGURED'
  | 'SOURCE_PACKAGE_MISSING'
  | 'SOURCE_UNREACHABLE'
  | 'SOURCE_SIGN_IN_REFUSED'
  | 'SOURCE_QUERY_REFUSED'
  | 'SOURCE_TIMED_OUT'
  | 'SOURCE_CANCELLED'
  | 'SOURCE_DROPPED'
  | 'SOURCE_TRUNCATED'
  | 'SOURCE_COLUMNS_INVALID'
  | 'SOURCE_VALUE_UNREADABLE'
  | 'SOURCE_FILE_INVALID'
  | 'SOURCE_FILE_MISSING'
  | 'SOURCE_FILE_CHANGING'
  | 'SOURCE_RESULT_REFUSED'
  | 'AUTOMATION_OFF'
  | 'TICK_RUNNING'
  | 'TICK_TAKEN_OVER'
  | 'TICK_OUTDATED'
  | 'REVIEW_CHANGED'
  | 'PREVIEW_UNAVAILABLE'
  | 'BATCH_NOT_FOUND'
  | 'BATCH_EXISTS'
  | 'BATCH_OVER'
  | 'GATE_NOT_FOUND'
  | 'MEMBER_FILE_INVALID'
  | 'MEMBER_ROWS_INVALID'
  | 'MEMBER_NOT_FOUND'
  | 'MEMBER_KEY_INVALID'
  | 'MEMBER_REPEATED'
  | 'MEMBER_ELSEWHERE'
  | 'MEMBER_NOT_IN_FILE'
  | 'STEP_NOT_FOUND'
  | 'ACTION_NOT_FOUND'
  | 'WOULD_BE_OVERDUE'
  | 'SELECTION_CHANGED'
  | 'STATE_CHANGED'
  | 'NOTIFICATIONS_FILE_INVALID'
  | 'NOTIFICATION_NOT_FOUND'
  | 'CHANNEL_UNKNOWN'
  | 'EVIDENCE_KEY_MISSING'
  | 'EVIDENCE_KEY_UNUSABLE'
  | 'AUDIT_HEADS_UNSENT'
  | 'SANDBOX_SEED_INVALID'
  | 'SANDBOX_FAULTS_INVALID'
  | 'SANDBOX_RECORDING_INVALID'
  | 'REHEARSAL_NOT_FOUND'
  | 'REHEARSAL_RUNNING'
  | 'REHEARSAL_UNAVAILABLE'
  | 'REHEARSAL_BATCH_UNFIT'
  | 'REHEARSAL_FAULTS_INVALID'
  | 'REHEARSAL_MEMBERS_MISSING'
  | 'REHEARSAL_TENANT_INVALID'
  | 'REHEARSAL_TENANT_MISSING'
  | 'WHAT_IF_UNFIT'
  | 'WORKER_NOT_FOUND'
  | 'FUNCTION_NOT_FOUND'
  | 'WORKER_NOT_CONFIGURED'
  | 'FUNCTIONS_UNUSABLE'
  | 'WORKER_CERTIFICATE_UNUSABLE'
  | 'WORKER_SIGN_IN_FAILED'
  | 'SECRETS_UNUSABLE'
  | 'SECRET_UNREADABLE'
  | 'BUS_NOT_CONFIGURED'
  | 'BUS_PACKAGE_MISSING'
  | 'BUS_UNREACHABLE'
  | 'BUS_REFUSED'
  | 'BUS_ENTITY_MISSING'
  | 'MESSAGE_ID_INVALID'
  | 'MESSAGE_UNROUTABLE'
  | 'MESSAGE_BODY_INVALID'
  | 'MESSAGE_TOO_LARGE'
  | 'WORKER_UNTOLD'
  | 'DEAD_LETTER_NOT_FOUND'
  | 'DEAD_LETTER_DECIDED'
  | 'DATABASE_FOLDER_IN_USE'
  | 'DATABASE_FOLDER_BROKEN'
  | 'DATABASE_FOLDER_LOST'
  | 'DATABASE_DISK_FULL'
  | 'DATABASE_STOPPED'
  | 'DATABASE_UNREACHABLE'
  | 'DATABASE_URL_UNFIT'
  | 'DATABASE_RESTORED'
  | 'DATABASE_TOO_OLD'
  | 'DATABASE_NOT_EMPTY'
  | 'DATABASE_NOT_THROW_AWAY'
  | 'DATABASE_ROLE_UNKNOWN'
  | 'DATABASE_ROLE_TOO_POWERFUL'
  | 'SNAPSHOT_FAILED'
  | 'SNAPSHOT_NOT_FOUND'
  | 'SCHEMA_NEWER'
  | 'SCHEMA_IN_USE'
  | 'SCHEMA_BUSY'
  | 'SCHEMA_AHEAD'
  | 'SCHEMA_OLDER'
  | 'SCHEMA_EDITED'
  | 'SCHEMA_UNRELEASED'
  | 'SCHEMA_INCOMPLETE'
  | 'NOT_OWNER'
  | 'RIGHTS_MISSING'
  | 'ENTRA_ROLES_UNAVAILABLE'

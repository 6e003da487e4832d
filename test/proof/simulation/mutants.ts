// The bug bank: typical mistakes in systems like this one, each a change in one function. The simulation must find every one of
// them, which shows that it would find a real one.
import type { BankedMutant } from './mutant-loader.ts'
import { NIGHT_MUTANTS } from './night-mutants.ts'
import { remove, replace } from './place.ts'
import { SOURCE_MUTANTS } from './source-mutants.ts'

export const MUTANTS: readonly BankedMutant[] = [
  {
    name: 'attempt not checked: any result of the step counts',
    in: 'isCurrentJob',
    edits: [replace('$wait.jobId === $jobId', `$jobId !== ''`)],
    foundBy: 16,
  },
  {
    name: 'failures are not counted',
    in: 'writeChanges',
    edits: [remove('raiseFailureRevisions($$args)')],
    foundBy: 1,
  },
  {
    name: 'message acknowledged before the commit',
    in: 'runOnce',
    under: 'src/bus/',
    edits: [
      replace(
        'const $outcomes = await handleUnderLease($options, $messages, $$rest)',
        `await $options.bus.ack($messages)
        const $outcomes = await handleUnderLease($options, $messages, $$rest)`,
      ),
    ],
    foundBy: 1,
  },
  {
    name: 'jobs published even if the commit fails',
    in: 'finishExclusive',
    edits: [
      replace(
        'const $sends = $drafts.flatMap(($draft) => jobMessages($draft, engine))',
        `const $sends = $drafts.flatMap(($draft) => jobMessages($draft, engine))
        void engine.db.transaction((own) => enqueueNew(own, $sends, $drafts[0].now)).catch(() => {})`,
      ),
    ],
    foundBy: 1,
  },
  {
    name: 'jobs published after the commit',
    in: 'inBatches',
    edits: [
      replace(
        'const $run = async',
        `const { enqueueNew } = await import('../../bus/outbox.ts')
        let sends: Parameters<typeof enqueueNew>[1] = []
        const $run = async`,
      ),
      replace(
        'await finish($batchTxs)',
        `await finish($batchTxs)
        if (access === 'exclusive') {
          sends = $batchTxs.flatMap(({ draft: { batch, jobs } }) =>
            jobs.map(({ jobId, step, functionName, params, timeoutSec, notAfter }) => {
              const { workerId } = step.definition
              const parameters = params as { [key: string]: never }
              const times = { timeoutSec, notAfter: notAfter.toISOString() }
              const isInitStep = step.kind === 'init'
              const owner = isInitStep ? { initExecutionId: step.id } : { stepExecutionId: step.id }
              const version = { runbookName: batch.runbookName, runbookVersion: batch.runbookVersion }
              const correlationData = { ...owner, isInitStep, ...version }
              const job = { jobId, batchId: batch.id, workerId, functionName, parameters }
              const body = { ...job, ...times, correlationData }
              return { topic: 'worker-jobs', messageId: jobId + '-replay-1', type: 'worker-job', workerId, expiresAt: notAfter, body }
            }),
          )
          const jobIds = $batchTxs.flatMap(({ draft }) => draft.jobs.map(({ jobId }) => jobId))
          await engine.bus.storedJobs!.withdrawIn(tx, jobIds)
        }`,
      ),
      replace(
        'return $engine.db.transaction(($tx) => $run($tx, $lock))',
        `const done = await $engine.db.transaction(($tx) => $run($tx, $lock))
        await $engine.db.transaction((own) => enqueueNew(own, sends, $engine.clock.now()))
        return done`,
      ),
    ],
    foundBy: 7,
  },
  {
    name: 'retry keeps the attempt number',
    in: 'retryOrFail',
    edits: [remove('attempt: $step.attempt + 1')],
    foundBy: 1,
  },
  {
    name: 'retry not counted',
    in: 'retryOrFail',
    edits: [remove('retryCount: $retry')],
    foundBy: 1,
  },
  {
    name: 'poll id without its number',
    in: 'repoll',
    edits: [replace('jobIdOf({ $$job, poll })', 'jobIdOf({ $$job, poll: 0 })')],
    foundBy: 75,
  },
  {
    name: 'counters updated only before sending',
    in: 'finishExclusive',
    edits: [replace('updateCounters($draft) closeFinished($draft)', 'closeFinished($draft)')],
    foundBy: 1,
  },
  {
    name: 'a phase closed under a shared lock, and so not written',
    in: 'finishShared',
    edits: [replace('closeFinished($draft) requireMembersOnly($draft)', 'closeFinished($draft)')],
    // 150 seeds found nothing since slots are filled in transactions of their own: the next one closes the phase.
    foundBy: null,
  },
  {
    name: 'members counted by their new status only',
    in: 'countMember',
    edits: [
      replace('Number($before === $status)', `Number($before === $status && $status !== 'failed')`),
    ],
    foundBy: 16,
  },
  {
    name: 'hold does not stop sending',
    in: 'isBatchHeld',
    edits: [replace('$batch.heldAt !== null', 'false')],
    foundBy: 13,
  },
  {
    name: 'retries and polls go out though the system is held',
    in: 'isBatchHeld',
    edits: [replace('$holds.system !== null', 'false')],
    foundBy: 51,
  },
  {
    name: 'hold does not withdraw jobs',
    in: 'finishExclusive',
    edits: [replace('$draft.wantsWithdrawal', '$draft.wantsWithdrawal && $draft.jobs.length > 0')],
    foundBy: 13,
  },
  {
    name: 'cancel does not withdraw jobs',
    in: 'cancelBatch',
    edits: [remove('await withdrawJobs($$args)')],
    foundBy: 10,
  },
  {
    name: 'withdrawal takes jobs that a worker already has',
    in: 'NEVER_LEASED',
    under: 'src/bus/',
    edits: [replace('lease_token is null', 'true')],
    foundBy: 167,
  },
  {
    name: "rollback starts while the failed step's job is unsettled",
    in: 'nextOfMember',
    edits: [remove('if ($steps.some(isUnsettled)) return null')],
    foundBy: 75,
  },
  {
    name: 'removal does not wait for the rollback',
    in: 'nextOfMember',
    edits: [
      replace(
        `firstOpenCompensation($steps, 'rollback') ?? firstOpenCompensation($steps, 'undo') ?? ($$removal)`,
        `($$removal) ?? firstOpenCompensation($steps, 'rollback') ?? firstOpenCompensation($steps, 'undo')`,
      ),
    ],
    foundBy: 16,
  },
  {
    name: 'fuse blows one failure too early',
    in: 'checkFuse',
    edits: [replace('$failed <= FUSE_MIN_FAILED', '$failed < FUSE_MIN_FAILED')],
    foundBy: 42,
  },
  {
    name: 'fuse blows one failure too late',
    in: 'checkFuse',
    edits: [replace('$failed <= FUSE_MIN_FAILED', '$failed <= FUSE_MIN_FAILED + 1')],
    foundBy: 85,
  },
  {
    name: 'a hint counts as the due time',
    in: 'onWake',
    edits: [
      replace(
        'if (!$wait?.wakeAt || $wait.wakeAt > $draft.now) return',
        'if (!$wait?.wakeAt) return',
      ),
    ],
    foundBy: null,
  },
  {
    name: 'phase starts on its message instead of its due time',
    in: 'onPhaseDue',
    edits: [replace('$phase.dueAt > $draft.now', '$phase.dueAt > $draft.later(86_400)')],
    foundBy: 81,
  },
  {
    name: 'phase closes before all its steps are written',
    in: 'closeFinished',
    edits: [replace('&& $phase.expandedAt !== null', '')],
    foundBy: 1,
  },
  {
    name: 'a joiner gets steps in open phases only',
    in: 'hasBegun',
    edits: [
      replace(
        'isPhaseStarted($phase.status) || ($$emptied)',
        `$phase.status === 'dispatched' || ($$emptied && isPhaseStarted($phase.status))`,
      ),
    ],
    foundBy: null,
  },
  {
    name: 'dead-lettered jobs are ignored',
    in: 'settleDeadJobs',
    edits: [
      replace(
        'const $letters = await deadLetters.listUnnoticedJobs($$args)',
        'const $letters = (await deadLetters.listUnnoticedJobs($$args)).slice(0, 0)',
      ),
    ],
    foundBy: 1,
  },
  {
    name: 'time on hold counts',
    in: 'resumeBatch',
    edits: [remove('await postpone($$args)')],
    foundBy: 18,
  },
  {
    name: 'a late success is applied to a cancelled step',
    in: 'onResult',
    under: 'src/domain/',
    edits: [
      replace(
        `$step.status === 'cancelled'`,
        `$step.status === 'cancelled' && failureOf($step, result)`,
      ),
    ],
    foundBy: 99,
  },
  {
    name: 'a repeated batch-init starts the batch again',
    in: 'beginBatch',
    edits: [remove(`if ($batch.status !== 'detected') return`)],
    foundBy: 15,
  },
  {
    name: 'a serialization failure counts as a poison message',
    in: 'TRANSIENT_CODES',
    edits: [remove(`'40001', '40P01'`)],
    foundBy: 24,
  },
  {
    name: 'operator retry reuses the old job id',
    in: 'reopenStep',
    edits: [replace('{ ...$fresh, attempt: $step.attempt + 1 }', '$fresh')],
    foundBy: 9,
  },
  {
    name: 'the job limit ignores outstanding jobs',
    in: 'slotsFree',
    edits: [
      replace(
        'for (const $jobs of $outstanding.values()) $free -= $jobs',
        'for (const $jobs of $outstanding.values()) $free -= Math.min($jobs, 0)',
      ),
    ],
    foundBy: 26,
  },
  {
    name: 'a member is active in two batches',
    in: 'withAllSteps',
    edits: [
      replace(
        'if ($elsewhere.length === 0) await ensureSteps($$args)',
        'await ensureSteps($$args)',
      ),
      replace('return $elsewhere', 'return $elsewhere.slice(0, 0)'),
    ],
    foundBy: 18,
  },
  {
    name: 'a phase that a new version replaces is not superseded',
    in: 'upgradePhases',
    edits: [replace('if (!$supersedes) continue', 'if (!$supersedes || version > 0) continue')],
    foundBy: 4,
  },
  {
    name: 'the timeout counts from the sending: a job that waits or runs is lost',
    in: 'awaitUntil',
    edits: [
      replace(
        'const $since = lastSign($$args)',
        `const $since = place.is === 'answered' ? now : null`,
      ),
    ],
    foundBy: 1,
  },
  {
    name: 'a job that a worker has is lost',
    in: 'awaitUntil',
    edits: [
      replace(
        'if ($since === null) return null',
        `if ($since === null || place.is === 'leased') return null`,
      ),
    ],
    foundBy: 38,
  },
  {
    name: 'a job that nobody started uses up a retry',
    in: 'onDeadLetter',
    edits: [replace(`$hasRun === 'possibly'`, `$hasRun === 'possibly' || $hasRun === 'never'`)],
    foundBy: 1,
  },
  {
    name: 'a lost job stays in the queue',
    in: 'withdrawLapsed',
    edits: [
      replace('if ($lapsed.length === 0) return $chunk', 'if ($lapsed.length >= 0) return $chunk'),
    ],
    foundBy: 37,
  },
  {
    name: 'a rollback by hand repeats one that has run',
    in: 'planRollback',
    edits: [replace('!$isRolledBack.has($name)', `(!$isRolledBack.has($name) || $name !== '')`)],
    foundBy: null,
  },
  ...SOURCE_MUTANTS,
  ...NIGHT_MUTANTS,
]

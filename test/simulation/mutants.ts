// The bug bank: mistakes that people make in systems like this one, each as a change of one place in the program. The sweep must
// find every one of them, and so shows that it would find them in earnest.
import type { BankedMutant } from './mutant-loader.ts'
import { SOURCE_MUTANTS } from './source-mutants.ts'

const SETTLE = 'src/domain/decide/settle.ts'
const SEND = 'src/domain/decide/send.ts'
const NEXT = 'src/domain/decide/next.ts'
const FINISH = 'src/domain/decide/finish.ts'
const DOOR = 'src/engine/engine.ts'
const OPERATE = 'src/engine/batch-actions.ts'

export const MUTANTS: readonly BankedMutant[] = [
  {
    name: 'attempt not checked: any result of the step counts',
    file: SETTLE,
    find: `wait?.what === 'job' && wait.jobId === jobId`,
    replace: `wait?.what === 'job' && jobId !== ''`,
    foundBy: 9,
  },
  {
    name: 'failures come and go uncounted',
    file: 'src/db/changes.ts',
    find: '    addFailureMoves(tx, draft),\n',
    replace: '',
    foundBy: 1,
  },
  {
    name: 'acknowledged before the commit',
    file: 'src/bus/consumer.ts',
    find: 'const outcomes = await handleUnderLease(options, messages, stopping)',
    replace:
      'await options.bus.settle(messages)\n  const outcomes = await handleUnderLease(options, messages, stopping)',
    foundBy: 1,
  },
  {
    name: 'jobs published whether or not the commit succeeds',
    file: DOOR,
    find: '  const sends = jobMessages(draft)\n',
    replace: `  const sends = jobMessages(draft)
  void batchTx.engine.db.transaction((own) => enqueueNew(own, sends, draft.now)).catch(() => {})\n`,
    foundBy: 1,
  },
  {
    name: 'jobs published after the commit',
    file: DOOR,
    find: `  return engine.db.transaction(async (tx) => {
    const batchTx = await begin(engine, tx, batchId, actor)
    const result = await work(batchTx)
    await commit(batchTx)
    return result
  })`,
    replace: `  let sends: Send[] = []
  const done = await engine.db.transaction(async (tx) => {
    const batchTx = await begin(engine, tx, batchId, actor)
    const result = await work(batchTx)
    await commit(batchTx)
    sends = jobMessages(batchTx.draft)
    await withdraw(tx, 'worker-jobs', sends.map(({ messageId }) => messageId))
    return result
  })
  const late = sends.map((one) => ({ ...one, messageId: \`\${one.messageId}-replay-1\` }))
  await engine.db.transaction((tx) => enqueueNew(tx, late, engine.clock.now()))
  return done`,
    foundBy: 7,
  },
  {
    name: 'retry without + 1',
    file: SETTLE,
    find: `        attempt: step.attempt + 1,
        retryCount: retry,`,
    replace: `        retryCount: retry,`,
    foundBy: 1,
  },
  {
    name: 'retry not counted',
    file: SETTLE,
    find: '        retryCount: retry,\n',
    replace: '',
    foundBy: 1,
  },
  {
    name: 'poll id without number',
    file: SEND,
    find: 'attempt: step.attempt, poll })',
    replace: 'attempt: step.attempt, poll: 0 })',
    foundBy: 34,
  },
  {
    name: 'counted before sending only',
    file: DOOR,
    find: '  updateCounters(draft)\n  closeFinished(draft)',
    replace: '  closeFinished(draft)',
    foundBy: 1,
  },
  {
    name: 'a phase is closed beside others, and so not written',
    file: 'src/engine/shared-lock.ts',
    find: '  closeFinished(draft)\n  requireMembersOnly(draft)\n',
    replace: '  closeFinished(draft)\n',
    foundBy: 1,
  },
  {
    name: 'members counted by their new status only',
    file: FINISH,
    find: `Number(member.status === status) - Number(before === status)`,
    replace: `Number(member.status === status) - Number(before === status && status !== 'failed')`,
    foundBy: 3,
  },
  {
    name: 'hold does not stop sending',
    file: SEND,
    find: '  if (batch.heldAt !== null) return false\n',
    replace: '',
    foundBy: 9,
  },
  {
    name: 'withdrawal forgotten at hold',
    file: DOOR,
    find: '  if (draft.wantsWithdrawal)\n',
    replace: '  if (draft.wantsWithdrawal && draft.jobs.length > 0)\n',
    foundBy: 13,
  },
  {
    name: 'withdrawal forgotten at cancel',
    file: OPERATE,
    find: '    await withdrawJobs(batchTx, `the batch was cancelled:',
    replace: '    String(`the batch was cancelled:',
    foundBy: 54,
  },
  {
    name: 'jobs called back from under the worker that has them',
    file: 'src/bus/outbox.ts',
    find: `const FREE = 'lease_token is null'`,
    replace: `const FREE = 'true'`,
    foundBy: 40,
  },
  {
    name: 'undo while the doing is unsettled',
    file: NEXT,
    find: `  if (steps.some(isUnsettled)) return null
  const undo =
    firstOpenUndo(steps, 'rollback') ??`,
    replace: `  const undo =
    firstOpenUndo(steps, 'rollback') ??`,
    foundBy: 20,
  },
  {
    name: 'removal does not wait for the rollback',
    file: NEXT,
    find: `    firstOpenUndo(steps, 'rollback') ??
    (member.status === 'removed' ? firstOpenUndo(steps, 'removal') : null)`,
    replace: `    (member.status === 'removed' ? firstOpenUndo(steps, 'removal') : null) ??
    firstOpenUndo(steps, 'rollback')`,
    foundBy: 181,
  },
  {
    name: 'fuse blows one too early',
    file: FINISH,
    find: 'if (failed <= FUSE_MIN_FAILED ||',
    replace: 'if (failed < FUSE_MIN_FAILED ||',
    foundBy: 42,
  },
  {
    name: 'fuse blows one too late',
    file: FINISH,
    find: 'if (failed <= FUSE_MIN_FAILED ||',
    replace: 'if (failed <= FUSE_MIN_FAILED + 1 ||',
    foundBy: 158,
  },
  {
    name: 'a hint is taken for the time itself',
    file: 'src/domain/decide/wake.ts',
    find: 'if (!wait?.wakeAt || wait.wakeAt > draft.now) return',
    replace: 'if (!wait?.wakeAt) return',
    foundBy: 48,
  },
  {
    name: 'phase due by message, not by its time',
    file: 'src/domain/decide/lifecycle.ts',
    find: 'if (phase.dueAt > draft.now) {',
    replace: 'if (phase.dueAt > draft.later(86_400)) {',
    foundBy: 81,
  },
  {
    name: 'phase closes before all its steps are written',
    file: FINISH,
    find: `phase.status === 'dispatched' && phase.expandedAt !== null)`,
    replace: `phase.status === 'dispatched')`,
    foundBy: 1,
  },
  {
    name: 'a joiner gets steps in open phases only',
    file: NEXT,
    find: 'isPhaseStarted(phase.status) || isEmptied(phase)',
    replace: `phase.status === 'dispatched' || (isEmptied(phase) && isPhaseStarted(phase.status))`,
    foundBy: 24,
  },
  {
    name: 'dead letters of jobs are not looked at',
    file: 'src/engine/timers.ts',
    find: 'const letters = await listDeadJobs(engine.db, DEAD_JOBS_PER_LOOK)',
    replace: 'const letters = (await listDeadJobs(engine.db, DEAD_JOBS_PER_LOOK)).slice(0, 0)',
    foundBy: 4,
  },
  {
    name: 'held time counts',
    file: OPERATE,
    find: '    await postponeWaits(tx, batchId, heldAt!, draft.now)\n',
    replace: '    if (heldAt === null) await postponeWaits(tx, batchId, draft.now, draft.now)\n',
    foundBy: 24,
  },
  {
    name: 'a late success of a cancelled step is applied',
    file: SETTLE,
    find: `if (step.status === 'cancelled') return settleCancelled(`,
    replace: `if (step.status === 'cancelled' && failureOf(step, result)) return settleCancelled(`,
    foundBy: 9,
  },
  {
    name: 'a repeated batch-init begins again',
    file: 'src/domain/decide/lifecycle.ts',
    find: `  if (batch.status !== 'detected') return\n`,
    replace: '',
    foundBy: 8,
  },
  {
    name: 'a collision in the database is taken for poison',
    file: 'src/db/transient.ts',
    find: `'40001', '40P01', `,
    replace: '',
    foundBy: 18,
  },
  {
    name: 'operator retry uses the old job id',
    file: 'src/domain/decide/reopen-step.ts',
    find: '{ ...fresh, attempt: step.attempt + 1 }',
    replace: 'fresh',
    foundBy: 3,
  },
  {
    name: 'the window forgets what is out',
    file: 'src/domain/decide/window.ts',
    find: 'for (const jobs of outstanding.values()) free -= jobs',
    replace: 'for (const jobs of outstanding.values()) free -= Math.min(jobs, 0)',
    foundBy: 18,
  },
  {
    name: 'a member is active in two batches',
    file: 'src/engine/member-actions.ts',
    find: '  if (elsewhere.length === 0) await ensureSteps(batchTx, ids)\n  return elsewhere.map(',
    replace: '  await ensureSteps(batchTx, ids)\n  return elsewhere.slice(0, 0).map(',
    foundBy: 19,
  },
  {
    name: 'a phase that a new version replaces is not taken away',
    file: 'src/engine/version-upgrade.ts',
    find: '    if (!supersedes) continue\n',
    replace: '    if (!supersedes || version > 0) continue\n',
    foundBy: 5,
  },
  ...SOURCE_MUTANTS,
]

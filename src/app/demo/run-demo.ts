// Runs the demonstration: starts the services, follows the batch to its end, skips the days in which nothing happens, and prints
// the outcome. Everything it shows comes from rows and events.

import { EXIT } from '../../base/errors/errors.ts'
import { MACHINE, realClock } from '../../base/run/clock.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { Screen } from '../../cli/terminal/screen.ts'
import { findBroken, INVARIANTS } from '../../db/invariants/invariants.ts'
import { analyze } from '../../db/schema/vacuum.ts'
import { noteWorkersSeen } from '../../db/state/workers.ts'
import {
  countPolls,
  findQuietUntil,
  listProgressEvents,
  loadProgress,
} from '../../db/views/progress.ts'
import type { Progress } from '../../domain/forecast/progress.ts'
import { isBatchEnded } from '../../domain/state/transitions.ts'
import { inspectCommand, keepSandboxToken } from '../sandbox/sandbox-token.ts'
import type { Demo } from './open-demo.ts'
import { interruptedLines, summaryLines, unexpectedOutcomes } from './summary.ts'
import { DEFECT_COUNT } from './tenants.ts'
import { DemoWatcher } from './watch.ts'

export interface RunDemoOptions {
  readonly screen: Screen | null
  readonly interrupted: AbortSignal
  /** Dashboard, services and tenants stay up after the end until Ctrl-C, and a hold does not end it: a person watches. */
  readonly isStaying: boolean
}

export async function runDemo(demo: Demo, options: RunDemoOptions, io: Io): Promise<void> {
  const { screen, interrupted, isStaying } = options
  const watcher = watcherOf(demo, options, io)
  if (screen) io.out('')
  try {
    for (const service of demo.services) service.start()
    await follow(demo, watcher, options)
    screen?.end()
    if (interrupted.aborted) printInterrupted(watcher, io)
    else if (isStaying) {
      await printOutcome(demo, watcher, options, io)
      await stay(demo, interrupted, io)
    }
  } finally {
    screen?.end()
    await Promise.all(demo.services.map((service) => service.stop()))
  }
  if (!interrupted.aborted) await printOutcome(demo, watcher, options, io)
  await demo.close()
}

/** Whatever people start in the dashboard still runs, and idle days are still skipped. */
async function stay(demo: Demo, interrupted: AbortSignal, io: Io): Promise<void> {
  const { tenants, db, batchId, clock, link } = demo
  io.out('')
  io.out('Dashboard and tenants are still running. Press Ctrl-C to stop.')
  io.out(`Click into any person: ${link}`)
  const removeToken = keepSandboxToken(tenants)
  io.out('What is in the tenants, and what was done to them:')
  io.out(`  ${inspectCommand(tenants, 'state')}`)
  io.out(`  ${inspectCommand(tenants, 'journal')}`)
  const machine = realClock()
  try {
    while (!interrupted.aborted) {
      await advance(demo, (await loadProgress(db, batchId, clock.now()))!)
      await machine.wait(STAY_MS, interrupted)
    }
  } finally {
    removeToken()
  }
}

const STAY_MS = 1_000

function watcherOf({ db, batchId, clock }: Demo, { screen }: RunDemoOptions, io: Io): DemoWatcher {
  const source = {
    progress: async () => (await loadProgress(db, batchId, clock.now()))!,
    events: (after: number, limit: number) => listProgressEvents(db, batchId, after, limit),
    polls: () => countPolls(db, batchId),
  }
  return new DemoWatcher(source, io, screen)
}

/** Reads, draws and advances the clock until the batch ends, is stuck or held, or Ctrl-C. */
async function follow(
  demo: Demo,
  watcher: DemoWatcher,
  { interrupted, isStaying }: RunDemoOptions,
): Promise<void> {
  const { pace, clock } = demo
  const machine = realClock()
  const beganMs = +machine.now()
  while (!interrupted.aborted) {
    const progress = await watcher.refresh()
    const isSkipping = await advance(demo, progress)
    const realMs = +machine.now() - beganMs
    watcher.show(clock.now(), realMs, pace.clockFactor, isSkipping)
    if (isBatchEnded(progress.batch.status)) return
    // A person who watches may hold it and think.
    if (!isStaying && (progress.batch.heldReason !== null || realMs > pace.limitMs)) return
    await machine.wait(pace.frameMs, interrupted)
  }
}

/** Runs the next story event when it is due; when nothing is due, skips the clock towards the next due time. */
async function advance(demo: Demo, progress: Progress): Promise<boolean> {
  const { clock, story, pace } = demo
  if (story[0] && story[0].at <= clock.now()) {
    await story.shift()!.run()
    return false
  }
  const quietUntil = await quietUntilOf(demo)
  if (quietUntil === null || isBatchEnded(progress.batch.status)) return false
  const next = Math.min(+quietUntil, +(story[0]?.at ?? quietUntil))
  const skipMs = Math.min(next - +clock.now(), pace.strideMs)
  if (skipMs <= 0) return false
  clock.skip(skipMs)
  // They were there all the time.
  await noteWorkersSeen(demo.db, clock.now())
  return true
}

/** The bus is asked first: a message handled in between leaves a wait behind, which the second query then finds. */
async function quietUntilOf({ bus, db }: Demo): Promise<Date | null> {
  const { messages } = await bus.depth()
  return messages.every(({ count }) => count === 0) ? findQuietUntil(db) : null
}

async function printOutcome(
  demo: Demo,
  watcher: DemoWatcher,
  { screen }: RunDemoOptions,
  io: Io,
): Promise<void> {
  const { db, clock, batchId, beganAt, errors, membersExpected, tenants } = demo
  const virtualMs = +clock.now() - +beganAt
  // Without it three of the rules compared every step with every other: half of the demonstration's processor time.
  await analyze(db)
  const broken = await findBroken(db, clock.now(), batchId, 0)
  const outcome = {
    progress: await watcher.refresh(),
    tally: watcher.tally,
    failures: watcher.failures,
    membersExpected,
    failuresExpected: DEFECT_COUNT,
    rollbacksExpected: DEFECT_COUNT,
    leaversExpected: 1,
    faultReport: tenants.faultReport(),
    invariantsChecked: INVARIANTS.length,
    invariantsBroken: broken.map(({ id, sentence, found }) => `${id} ${sentence}: ${found}`),
    errors,
    realMs: MACHINE.steadyMs(),
    virtualMs,
  }
  io.out('')
  for (const line of summaryLines(outcome, screen?.width ?? SUMMARY_WIDTH, io.paint)) io.out(line)
  io.exitCode = unexpectedOutcomes(outcome).length === 0 ? EXIT.ok : EXIT.failed
}

const SUMMARY_WIDTH = 120

function printInterrupted({ progress, tally }: DemoWatcher, io: Io): void {
  io.out('')
  for (const line of interruptedLines(progress, tally)) io.out(line)
  io.exitCode = EXIT.failed
}

// `--wait`: until a batch is idle or held, the timeout is reached, or Ctrl-C.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EXIT, MatoolkitError } from '../../../../src/base/errors/errors.ts'
import { type Clock, virtualClock } from '../../../../src/base/run/clock.ts'
import { failOnFailedPhase, waitUntilIdle } from '../../../../src/cli/commands/batch/wait.ts'
import type { CommandClient } from '../../../../src/cli/connection/client.ts'
import { type CommandContext, contextOf } from '../../../../src/cli/program/command-context.ts'
import { recordingIo } from '../../recording-io.ts'

type Page = Awaited<ReturnType<typeof waitUntilIdle>>

/** What the wait looks at. */
const page = (status: string, phases: readonly (readonly [string, string])[], more = {}): Page =>
  ({
    batch: { status, held: null, members: { active: 3, failed: 0, removed: 0 }, ...more },
    phases: phases.map(([phaseName, status]) => ({ phaseName, status })),
  }) as unknown as Page
const RUNNING = page('active', [['prepare', 'dispatched']])
const IDLE = page('active', [
  ['prepare', 'completed'],
  ['cutover', 'pending'],
])

/** A context whose API returns these pages, then the last one. `asked` is called before each. */
function contextWith(
  pages: readonly Page[],
  flags = {},
  asked: (times: number) => void = () => {},
) {
  let nowMs = 0
  let times = 0
  const clock: Clock = {
    ...virtualClock(new Date(0)),
    now: () => new Date(nowMs),
    wait: async (ms) => {
      nowMs += ms
    },
  }
  const call = async () => {
    times += 1
    asked(times)
    return pages[Math.min(times, pages.length) - 1]!
  }
  const io = recordingIo()
  const client = { call } as unknown as CommandClient
  const context: CommandContext = {
    ...contextOf({ output: 'json', ...flags }, io),
    clock,
    client,
    io,
  }
  return { context, io }
}

const refusalOf = async (promise: Promise<unknown>): Promise<MatoolkitError> => {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof MatoolkitError, String(error))
  return error
}

describe('--wait', () => {
  it('ends when no phase runs', async () => {
    const { context } = contextWith([RUNNING, RUNNING, IDLE])
    assert.equal(await waitUntilIdle(context, '7'), IDLE)
  })

  it('after a change of people ends with their last open step, however long the wave runs', async () => {
    const open = [3, 1, 0]
    const { context } = contextWith([RUNNING])
    const call = async (endpoint: string) =>
      endpoint === 'GET /api/actions/{actionId}' ? { openNow: open.shift() } : RUNNING
    const client = { call } as unknown as CommandClient
    assert.equal(await waitUntilIdle({ ...context, client }, '7', 12), RUNNING)
    assert.deepEqual(open, [])
  })

  it('ends with an error when the batch is held or the timeout is reached', async () => {
    const held = page('active', [['prepare', 'dispatched']], { held: { reason: 'too slow' } })
    const disappointed = await refusalOf(waitUntilIdle(contextWith([RUNNING, held]).context, '7'))
    assert.equal(disappointed.code, 'WAIT_DISAPPOINTED')
    assert.match(disappointed.message, /^Batch 7 is held: too slow\./)
    const late = await refusalOf(
      waitUntilIdle(contextWith([RUNNING], { timeout: '30s' }).context, '7'),
    )
    assert.deepEqual([late.code, late.exitCode], ['WAIT_TIMED_OUT', EXIT.timedOut])
  })

  it('ends on Ctrl-C, and the batch continues', async () => {
    const interrupt = (times: number) => {
      if (times === 2) process.emit('SIGINT', 'SIGINT')
    }
    const stopped = await refusalOf(
      waitUntilIdle(contextWith([RUNNING], {}, interrupt).context, '7'),
    )
    assert.deepEqual([stopped.code, stopped.exitCode], ['WAIT_STOPPED', EXIT.interrupted])
    assert.match(stopped.message, /^Stopped waiting; batch 7 continues\./)
    assert.equal(process.listenerCount('SIGINT'), 0)
  })

  const ENDS: [what: string, rest: Page, exit: number][] = [
    ['a batch at rest', IDLE, EXIT.ok],
    ['a cancelled batch', page('cancelled', [['prepare', 'cancelled']]), EXIT.ok],
    ['a failed batch', page('failed', []), EXIT.failed],
    ['a failed phase', page('active', [['prepare', 'failed']]), EXIT.failed],
    [
      'a failed phase that a new version gave another row',
      page('active', [
        ['prepare', 'failed'],
        ['prepare', 'completed'],
      ]),
      EXIT.ok,
    ],
  ]
  for (const [what, rest, exit] of ENDS) {
    it(`tells scripts of ${what} by exit code ${exit}`, () => {
      const { context, io } = contextWith([])
      failOnFailedPhase(context, rest)
      assert.equal(io.exitCode, exit)
    })
  }
})

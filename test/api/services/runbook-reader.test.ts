// Runbooks of callers are read in a thread: one at a time, for seconds at most, and a text that takes longer costs only its own answer.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { READING_LIMITS, RunbookReader } from '../../../src/api/services/runbook-reader.ts'
import { runbook, step } from '../../stories/looking.ts'

/** Its answer would take seconds. */
const COSTLY = `"${'\\q'.repeat(500_000)}"`
const YAML = runbook('wave', { 'move T-0': [step('create')] })

const never = { wait: () => new Promise<void>(() => {}) }

let reader: RunbookReader | undefined
afterEach(() => reader?.close())

describe('a reader of runbooks', () => {
  it('answers like the function itself', async () => {
    reader = new RunbookReader(never)
    const { runbook: read, problems } = await reader.run('readRunbook', YAML, {})
    assert.deepEqual(problems, [])
    assert.equal(read?.name, 'wave')
    assert.ok(read.rollbacks instanceof Map)
    const broken = await reader.run('readRunbook', 'name: [', {})
    assert.equal(broken.runbook, null)
    assert.equal(broken.problems[0]!.code, 'YAML_SYNTAX')
  })

  it('leaves this thread free while it reads', async () => {
    reader = new RunbookReader(never)
    let isAnswered = false
    const reading = reader.run('readRunbook', COSTLY).finally(() => {
      isAnswered = true
    })
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate)
    assert.equal(isAnswered, false)
    await reader.close()
    await assert.rejects(reading, /ended/)
  })

  it('gives a text up after its time, and reads the next', async () => {
    let waits = 0
    reader = new RunbookReader({ wait: () => (++waits === 1 ? Promise.resolve() : never.wait()) })
    await assert.rejects(reader.run('readRunbook', COSTLY), { code: 'RUNBOOK_TOO_COSTLY' })
    assert.equal((await reader.run('readRunbook', YAML)).runbook?.name, 'wave')
  })

  it('gives a text up that takes too much memory, and reads the next', async () => {
    reader = new RunbookReader(never, { ...READING_LIMITS, memoryMb: 24 })
    await assert.rejects(reader.run('readRunbook', COSTLY), { code: 'RUNBOOK_TOO_COSTLY' })
    assert.equal((await reader.run('readRunbook', YAML)).runbook?.name, 'wave')
  })

  it('lets so many wait and refuses the rest', async () => {
    reader = new RunbookReader(never, { ...READING_LIMITS, waitingMax: 2 })
    const readings = [1, 2, 3].map(() => reader!.run('readRunbook', YAML))
    await assert.rejects(reader.run('readRunbook', YAML), { code: 'RUNBOOKS_BUSY' })
    for (const { runbook: read } of await Promise.all(readings)) assert.equal(read?.name, 'wave')
  })
})

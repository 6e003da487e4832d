// A vendor that the core has never heard of: its package brings the functions, their facts and the meanings of its errors, and gate, undo,
// lint and windows work as they do for Microsoft 365.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { realClock } from '../../src/base/run/clock.ts'
import { readRunbook } from '../../src/domain/runbook/read.ts'
import { resumeBatch } from '../../src/engine/orders/batch-actions.ts'
import { approveGate, readGates } from '../../src/engine/orders/gates.ts'
import { redoMembers } from '../../src/engine/orders/member-actions.ts'
import { undoMembers } from '../../src/engine/orders/undo.ts'
import { catalogueOf } from '../../src/worker/functions/catalogue.ts'
import { runJob } from '../../src/worker/jobs/run-job.ts'
import { openDirectory } from '../fixtures/second-vendor/directory.ts'
import { SECOND_CATALOGUE, secondVendor } from '../fixtures/second-vendor/package.ts'
import { batchOf, memberId, order, runbook } from './looking.ts'
import { type Answer, type Job, story, type World } from './world.ts'

const named = (name: string, call: string, more = '') =>
  `{ name: ${name}, worker_id: w1, ${call}${more} }`
const OPEN = named(
  'open',
  'function: Open-Account, params: { Name: "{{UserPrincipalName}}" }',
  ', output_params: { Id: Id }',
)
const COUNT = named('count', 'function: Count-Seats, params: { Name: "{{UserPrincipalName}}" }')
const SEAT = named('seat', 'function: Give-Seat, params: { Id: "{{Id}}" }')
const CHECK = named('check', 'function: Test-Account, params: { Id: "{{Id}}" }')
const YAML = runbook('wave', {
  'prepare T-1h': [OPEN, COUNT],
  'cutover T-0 gate: { approvals: 1 }': [SEAT, CHECK],
})

/** Runs each job in the directory, as a worker does. */
async function workerAt(url: string): Promise<(job: Job) => Promise<Answer>> {
  const vendor = secondVendor(url)
  const { tenant } = (await vendor.connect({} as never))!
  const catalogue = catalogueOf(vendor.functions)
  const { signal: stopping } = new AbortController()
  return async ({ jobId, batchId, functionName, parameters }) => {
    const job = {
      jobId,
      batchId,
      functionName,
      parameters,
      timeoutSec: null,
      notAfter: null,
      isRepeated: false,
      correlation: null,
    }
    const context = { workerId: 'w1', catalogue, clock: realClock(), tenant, stopping }
    const done = await runJob(job, context)
    if (done!.status === 'Success')
      return { ok: done!.result, ...(done!.effect && { effect: done!.effect }) }
    return { fail: done!.error!.message }
  }
}

const names = (directory: { accounts: Map<string, { name: string; hasSeat: boolean }> }) =>
  [...directory.accounts.values()].map(({ name, hasSeat }) => `${name}${hasSeat ? ' seat' : ''}`)

const missing = async ({ engine }: World, batchId: number) =>
  (await readGates(engine, batchId)).gates.flatMap((gate) => gate.missing)

it('moves people through a gate that counts its seats, and undoes one of them without touching the next', () =>
  story({ packaged: SECOND_CATALOGUE.functions }, async (world) => {
    await using directory = await openDirectory(2)
    world.answer = await workerAt(directory.url)
    await world.publish(YAML)
    const batchId = await world.batch('wave', 3, { startsInMin: 120 })
    await world.pass(3_600)
    assert.deepEqual(await missing(world, batchId), [
      '0 of 1 approvals',
      'seats standard: 2 free, 3 needed',
    ])
    await approveGate(world.engine, { ...order(batchId), phaseName: 'cutover', actor: 'ben' })
    await world.pass(3_600)
    assert.equal(
      (await batchOf(world, batchId)).held,
      'phase cutover waits at its gate: seats standard: 2 free, 3 needed',
    )
    // A seat is bought, and somebody asks again.
    directory.seats = 3
    const again = { memberIds: [await memberId(world, batchId, 1)], fromStepName: 'count' }
    await resumeBatch(world.engine, order(batchId))
    await world.pass(60)
    await redoMembers(world.engine, { ...order(batchId), ...again })
    for (let minute = 0; minute < 3; minute++) await world.pass(60)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    assert.deepEqual(names(directory), [
      'user1@contoso.example seat',
      'user2@contoso.example seat',
      'user3@contoso.example seat',
    ])
    const memberIds = [await memberId(world, batchId, 2)]
    await undoMembers(world.engine, { ...order(batchId), memberIds })
    await world.pass(60)
    assert.deepEqual(names(directory), ['user1@contoso.example seat', 'user3@contoso.example seat'])
  }))

it('brings its own lint: an order that the package declares, and a change that nothing checks', () => {
  const lint = (yaml: string) =>
    readRunbook(yaml, { catalogues: [SECOND_CATALOGUE], isLinted: true }).problems.map(
      ({ code, message }) => `${code}: ${message}`,
    )
  assert.deepEqual(lint(YAML), [])
  const early = runbook('wave', {
    'prepare T-1h': [SEAT.replace('{{Id}}', '{{UserPrincipalName}}'), OPEN, CHECK],
  })
  assert.ok(
    lint(early).some((line) =>
      line.startsWith('RUNS_TOO_EARLY: Give-Seat runs before step "open": there is no account yet'),
    ),
    lint(early).join('\n'),
  )
  const unchecked = runbook('wave', { 'prepare T-1h': [OPEN, SEAT] })
  assert.ok(lint(unchecked).some((line) => line.startsWith('CHANGE_WITHOUT_CHECK: Give-Seat')))
})

it('explains its own errors, and leaves those of others alone', () => {
  const { meaningOf } = secondVendor('http://127.0.0.1')
  assert.equal(meaningOf('Directory returned 409: the directory is full')!.id, 'directory-full')
  assert.equal(meaningOf('Microsoft Graph returned 404 Request_ResourceNotFound: x'), null)
})

it('sends its reads outside the change windows, and keeps its changes', () =>
  story({ packaged: SECOND_CATALOGUE.functions }, async (world) => {
    await using directory = await openDirectory(2)
    world.answer = await workerAt(directory.url)
    const later = 'windows: { time_zone: UTC, hours: [{ from: "10:00", to: "12:00" }] }'
    await world.publish(runbook('wave', { 'prepare T-1h': [COUNT, OPEN] }, later))
    await world.batch('wave', 2, { startsInMin: 60 })
    await world.settle()
    assert.deepEqual(
      [...new Set(world.jobs.map(({ functionName }) => functionName))],
      ['Count-Seats'],
    )
    assert.equal(directory.accounts.size, 0)
  }))

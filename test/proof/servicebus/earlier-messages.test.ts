// Every message that the documents of the earlier system show, sent as it stands there by a foreign sender over the tests' broker, to batches
// that have their ids: each does what it asks for or asks in vain, and none becomes a dead letter.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import type { JsonObject } from '../../../src/base/text/json.ts'
import { configureWorkers } from '../../../src/db/state/workers.ts'
import { batchOf, because, stepsOf } from '../../stories/looking.ts'
import { stepLook } from '../../stories/timeline.ts'
import { overServiceBus } from '../../stories/wire.ts'
import { people, story, type World } from '../../stories/world.ts'
import { type ForeignPeer, openForeignPeer } from './foreign-peer.ts'

const DATA = join(import.meta.dirname, '../../fixtures/earlier-system')
const textOf = (file: string) => readFileSync(join(DATA, file), 'utf8')
const messageOf = (file: string) => JSON.parse(textOf(`messages/${file}.json`)) as JsonObject

const WORKER = 'worker-01'
const MINUTES_TO_START = 7_200
const MEMBERS = 15

const YAML = `name: contoso-mailbox-migration
data_source: { type: csv, path: x.csv, primary_key: UserPrincipalName, batch_time_column: At }
${textOf('fragments/init.yaml')}phases:
  - name: pre-notification
    offset: T-5d
    steps:
      - name: create
        worker_id: ${WORKER}
        function: New-EntraUser
        params: { DisplayName: "{{Name}}", UserPrincipalName: "{{UserPrincipalName}}" }
        output_params: { TargetId: UserId }
      - { name: start-mailbox-move, worker_id: ${WORKER}, function: Start-Move, params: { Id: "{{TargetId}}" }, poll: { interval: 15m, timeout: 24h } }
${textOf('fragments/on-member-removed.yaml')}`

const answer = ({ functionName }: { readonly functionName: string }) => ({
  ok: functionName === 'Start-Move' ? { complete: false } : { UserId: 'T' },
})

/** The next row of each table gets this id. */
async function begin({ db }: World, ids: Readonly<Record<string, number>>): Promise<void> {
  for (const [table, id] of Object.entries(ids))
    await db.query(`alter table ${table} alter column id restart with ${id}`)
}

/** The third version of the runbook and its batch 42: members 501 to 515, phase 108. */
async function play(firstStep: number, tell: (world: World, peer: ForeignPeer) => Promise<void>) {
  await story({ wire: overServiceBus([WORKER, 'w1']) }, async (world) => {
    const peer = await openForeignPeer(world.wire.connectionString!)
    try {
      world.workers = [WORKER]
      await configureWorkers(world.db, [WORKER])
      await begin(world, { batches: 42, batch_members: 501, phase_executions: 108 })
      await begin(world, { step_executions: firstStep - 1 })
      for (const version of [1, 2, 3]) await world.publish(`${YAML}# ${version}\n`)
      const options = { startsInMin: MINUTES_TO_START }
      assert.equal(await world.batch('contoso-mailbox-migration', people(MEMBERS), options), 42)
      await tell(world, peer)
      assert.deepEqual((await world.bus.depth()).deadLetters, [], 'nothing was refused')
      assert.equal((await batchOf(world, 42)).held, null)
    } finally {
      await peer.close()
    }
  })
}

/** In the casing of both documents, each twice: the bus may deliver again. */
async function tellTwice(peer: ForeignPeer, type: string, documents: readonly string[]) {
  for (const document of [...documents, ...documents])
    await peer.send('orchestrator-events', messageOf(`${type}.${document}`), { MessageType: type })
}

it('an init starts once, for a batch that waits for it', () =>
  play(123, async (world, peer) => {
    world.answer = answer
    await tellTwice(peer, 'batch-init', ['002', '003'])
    await world.settle()
    const inits = world.jobs.filter(
      ({ functionName }) => functionName === 'New-MigrationBatchGroup',
    )
    assert.deepEqual(
      inits.map(({ jobId, parameters }) => [jobId, parameters.BatchId]),
      [['init-122', 42]],
    )
    assert.equal((await batchOf(world, 42)).status, 'active')
  }))

it('a result under a job id of the documents gives its step the output that they show', () =>
  play(123, async (world, peer) => {
    world.answer = ({ functionName }) =>
      functionName === 'New-MigrationBatchGroup' ? { ok: true } : 'silent'
    await world.settle()
    await peer.send('worker-results', messageOf('worker-result.002'), {})
    await peer.send('worker-results', messageOf('worker-result.002'), {})
    await world.settle()
    assert.equal((await stepLook(world, 123)).status, 'succeeded')
    const last = world.jobs.at(-1)!
    assert.deepEqual([last.functionName, last.parameters], ['Start-Move', { Id: 'abc-123' }])
    const CorrelationData = { StepExecutionId: 125, IsInitStep: false }
    const failed = { JobId: 'guid', Status: 'Failure', ...messageOf('error.002'), CorrelationData }
    await peer.send('worker-results', failed, {})
    await world.settle()
    assert.deepEqual(await stepLook(world, 125).then(({ status, error }) => [status, error]), [
      'failed',
      'User not found (Microsoft.Graph.ServiceException)',
    ])
  }))

it('events about phases, members, polls and retries start nothing early and nothing twice', () =>
  play(1_042, async (world, peer) => {
    world.answer = answer
    await world.settle()
    const before = world.jobs.length
    await tellTwice(peer, 'phase-due', ['002', '003'])
    await tellTwice(peer, 'member-added', ['002', '003'])
    await tellTwice(peer, 'poll-check', ['002', '003'])
    await tellTwice(peer, 'retry-check', ['002'])
    await world.settle()
    assert.equal(world.jobs.length, before, 'no job is sent before its time')
    await tellTwice(peer, 'member-removed', ['002', '003'])
    await world.settle()
    assert.deepEqual(
      world.jobs.slice(before).map(({ functionName, parameters }) => [functionName, parameters]),
      [['Remove-MailForwarding', { UserPrincipalName: 'user3@contoso.example' }]],
    )
    assert.equal((await batchOf(world, 42)).removed, 1)
    assert.match((await stepsOf(world, 505)).join(), /start-mailbox-move polling/)
    assert.deepEqual(await because(world, 'unexpected_result'), [])
  }))

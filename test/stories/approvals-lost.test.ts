// Approvals of a gate are about people, a time and a version. Each act that makes one void says so before it, asks, and says it again.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../src/base/errors/errors.ts'
import { approveGate } from '../../src/engine/orders/gates.ts'
import { type Cli, openCli } from '../cli/against-api.ts'
import { order, runbook, step } from './looking.ts'
import { people, type World } from './world.ts'

const YAML = runbook('wave', {
  'prepare T-1h': [step('create')],
  'cutover T-0 gate: { approvals: 2 }': [step('switch')],
})
const TONIGHT = '1'
const NEXT_WEEK = '2'
const WHY = ['--reason', 'as agreed']
const key = (number: number): string => `user${number}@contoso.example`

const becomes = (batchId: string, who = 'approvals of ben and cleo', verb = 'become') =>
  `The ${who} for phase cutover of batch ${batchId} ${verb} void: `

describe('an act that makes approvals void', () => {
  let cli: Cli
  let world: World

  before(async () => {
    cli = await openCli()
    world = cli.api.world
    await world.publish(YAML)
    await world.batch('wave', 8, { startsInMin: 120 })
    await world.batch('wave', people(10).slice(8), { startsInMin: 7 * 24 * 60 })
    await world.settle()
  })
  after(() => cli.close())

  const approve = async (batchId: string, ...actors: string[]) => {
    await world.settle()
    for (const actor of actors)
      await approveGate(world.engine, { ...order(Number(batchId)), actor, phaseName: 'cutover' })
  }
  const counting = async (batchId: string) => {
    const { gates } = await cli.json<{ gates: { approvals: { given: number } }[] }>(
      'batch',
      'get',
      batchId,
      '--gates',
    )
    return gates.map(({ approvals }) => approvals.given)
  }

  it('names them in the dry run of a move, in both waves, and voids nothing', async () => {
    await approve(TONIGHT, 'ben', 'cleo')
    await approve(NEXT_WEEK, 'ben')
    const said = await cli.cli(
      'batch',
      'move-member',
      TONIGHT,
      key(3),
      '--to',
      NEXT_WEEK,
      '--dry-run',
    )
    assert.equal(said.exit, EXIT.ok, said.err)
    assert.ok(said.err.includes(`${becomes(TONIGHT)}ben and cleo, or others, must approve again.`))
    assert.ok(
      said.err.includes(
        `${becomes(NEXT_WEEK, 'approval of ben', 'becomes')}ben, or others, must approve again.`,
      ),
    )
    assert.deepEqual([await counting(TONIGHT), await counting(NEXT_WEEK)], [[2], [1]])
  })

  it('asks with their names before a move, and answers with them', async () => {
    const move = ['batch', 'move-member', TONIGHT, key(3), '--to', NEXT_WEEK, ...WHY]
    const asked = await cli.person({ answers: ['n'] }, ...move)
    assert.ok(asked.err.includes(becomes(TONIGHT)), asked.err)
    assert.deepEqual(await counting(TONIGHT), [2], 'a no changes nothing')
    const done = await cli.cli(...move, '--yes')
    assert.ok(done.err.includes(becomes(TONIGHT, undefined, 'are')), done.err)
    assert.deepEqual([await counting(TONIGHT), await counting(NEXT_WEEK)], [[0], [0]])
  })

  it('is an answer of the API for remove and for adding again', async () => {
    await approve(TONIGHT, 'ben')
    for (const verb of ['remove', 'readd']) {
      const { body } = await cli.api.call<{ approvalsLost: unknown }>(
        'POST',
        `/api/batches/${TONIGHT}/members/${verb}`,
        { body: { select: { keys: [key(4)] }, reason: 'sick', dryRun: verb === 'readd' } },
      )
      assert.deepEqual(
        body.approvalsLost,
        verb === 'remove' ? [{ batchId: 1, phaseName: 'cutover', approvedBy: 'ben' }] : [],
      )
    }
  })

  it('says nothing of approvals where none is lost', async () => {
    await approve(TONIGHT, 'ben')
    const { body } = await cli.api.call<{ approvalsLost: unknown }>(
      'POST',
      `/api/batches/${TONIGHT}/members/hold`,
      { body: { select: { keys: [key(5)] }, reason: 'calls back', dryRun: true } },
    )
    assert.deepEqual(body.approvalsLost, [])
  })

  it('stops a reschedule by a script that did not say yes', async () => {
    const to = ['batch', 'reschedule', TONIGHT, '+1h', ...WHY]
    const script = await cli.script(...to)
    assert.equal(script.exit, EXIT.usage, script.err)
    assert.ok(script.err.includes(becomes(TONIGHT, 'approval of ben', 'becomes')), script.err)
    assert.deepEqual(await counting(TONIGHT), [1])
    assert.equal((await cli.script(...to, '--yes')).exit, EXIT.ok)
    assert.deepEqual(await counting(TONIGHT), [0])
  })

  it('is in the plan of a new version, over all waves', async () => {
    await approve(TONIGHT, 'ben')
    await approve(NEXT_WEEK, 'cleo')
    const file = cli.file('next.yaml', YAML.replace('name: create', 'name: make'))
    const said = await cli.cli('runbook', 'publish', file, '--dry-run')
    assert.ok(said.err.includes(becomes(TONIGHT, 'approval of ben', 'becomes')), said.err)
    assert.ok(said.err.includes(becomes(NEXT_WEEK, 'approval of cleo', 'becomes')), said.err)
  })

  it('asks before late joiners of a manual wave', async () => {
    const batchId = String(await world.batch('wave', people(12).slice(10), { manual: true }))
    await approve(batchId, 'ben')
    const late = cli.file('late.csv', `UserPrincipalName,Department\n${key(20)},Finance\n`)
    const add = ['batch', 'add-members', batchId, late, ...WHY]
    const script = await cli.script(...add)
    assert.match(script.err, /1 person joins batch \d+/)
    assert.ok(script.err.includes(becomes(batchId, 'approval of ben', 'becomes')), script.err)
    assert.deepEqual(await counting(batchId), [1])
    assert.equal((await cli.script(...add, '--yes')).exit, EXIT.ok)
    assert.deepEqual(await counting(batchId), [0])
  })
})

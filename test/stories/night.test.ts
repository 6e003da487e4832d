// The questions of an operator at night: is somebody needed, who is where, where is this person, and what comes next.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../src/base/errors/errors.ts'
import { tellMisses } from '../../src/orchestrator/forecast-misses.ts'
import { plain } from '../api/contract/fixtures.ts'
import { type Cli, openCli } from '../cli/against-api.ts'
import { blocksOf, follow } from './guide.ts'
import { people } from './world.ts'

const KEYS = people(5).map(({ key }) => key)

describe('at night', () => {
  let cli: Cli
  before(async () => {
    cli = await openCli()
    const { world } = cli.api
    await world.publish(plain())
    await world.batch(
      'plain',
      KEYS.map((key, at) => ({
        key,
        data: { UserPrincipalName: key, Old: `old${at}@fabrikam.example` },
      })),
      { startsInMin: 60 },
    )
  })
  after(() => cli.close())
  const HERE = { zone: 'Europe/Berlin', now: new Date('2026-03-02T08:00:00Z') }
  const here = (...args: string[]) => cli.person(HERE, ...args)

  it('no action is needed, and the next phase has its time and countdown', async () => {
    cli.api.world.answer = () => ({ ok: { id: 7 } })
    await cli.api.world.settle()
    const said = await here('status')
    assert.equal(said.exit, EXIT.ok, said.err)
    assert.match(
      said.out,
      /^No action needed: nothing is running; next is cutover of batch 1 at 10:00 CET\.\n/,
    )
    assert.match(said.out, /\n +1 +plain +cutover +10:00 CET +in 1h, 5 people\n/)
    assert.doesNotMatch(said.out, /\d\dZ|failed/)
  })

  it('each person has a state, a place and what comes next', async () => {
    const { out } = await here('batch', 'members', '1')
    assert.match(out, new RegExp(`${KEYS[0]} +preparing +.*waits for phase cutover at 10:00 CET`))
    assert.doesNotMatch(out, /\bactive\b/)
    const none = await here('batch', 'members', '1', '--state', 'cut-over,done,failed')
    assert.equal(none.out, 'No members match.\n')
    assert.match((await here('batch', 'list')).out, /5 preparing/)
  })

  it('one person is found by the old address, with what comes next and what happened', async () => {
    const said = await here('member', 'find', 'OLD2@fabrikam.example')
    assert.equal(said.exit, EXIT.ok, said.err)
    assert.match(said.out, new RegExp(`${KEYS[2]} +1 +plain .*preparing .*cutover at 10:00 CET`))
    assert.match(said.out, /What happened last[\s\S]*matoolkit member show 1 /)
    assert.ok(!said.out.includes(KEYS[1]!))
    const near = await here('member', 'find', `${KEYS[2]!.split('@')[0]}@nowhere.example`)
    assert.match(near.err, /^No one has ".*@nowhere\.example"\. Similar people:\n/)
    const nobody = await here('member', 'find', 'zz')
    assert.deepEqual(
      [nobody.exit, nobody.out],
      [EXIT.notFound, 'No one in any batch has "zz" as a key or in their data.\n'],
    )
  })

  it('a failure calls somebody, names people and the command; a finished person is done', async () => {
    cli.api.world.answer = ({ parameters }) =>
      parameters.UserPrincipalName === KEYS[4] ? { fail: 'no licence left' } : { ok: true }
    await cli.api.world.pass(3_600)
    const said = await here('status')
    assert.equal(said.exit, EXIT.needed, said.err)
    assert.match(said.out, /^Action needed: 1 person of batch 1 failed\.\n/)
    const why = '1 person failed at switch: no licence left (TestError)'
    assert.ok(
      said.out.includes(`\n    ${why}\n    ${KEYS[4]}\n    matoolkit failures 1\n`),
      said.out,
    )
    assert.equal((await cli.script('status')).exit, EXIT.needed)
    const { out } = await here('batch', 'members', '1')
    assert.match(out, new RegExp(`${KEYS[0]} +done .*finished`))
    assert.match(out, new RegExp(`${KEYS[4]} +failed +cutover +switch`))
    assert.match((await here('batch', 'get', '1')).out, /members +4 of 5 done, 1 failed/)
    const failed = await cli.json<{ total: number }>('batch', 'members', '1', '--state', 'failed')
    assert.equal(failed.total, 1)
  })

  it('the guide answers each question with a command and what it shows', async () => {
    const blocks = blocksOf('cut-over-night.md', 'At night')
    assert.equal(blocks.length, 6, 'stop everything, and five questions')
    for (const block of blocks) await follow(block, (args) => here(...args))
  })

  it('a phase that will miss T-0 calls somebody, with the time, the reason and the forecast', async () => {
    const { world } = cli.api
    const others = people(45).slice(5)
    const members = others.map(({ key }) => ({ key, data: { UserPrincipalName: key } }))
    const id = String(await world.batch('plain', members, { startsInMin: 20 }))
    await world.orchestrate()
    await world.clock.advance(600_000)
    await world.work(10)
    await world.orchestrate()
    await tellMisses(world.engine)
    const late =
      /[Pp]hase prepare will miss T-0 \(10:20 CET\) by 30m: 30 steps left at 1 step a minute, the pace of the last 10m, and 10m for the last members/
    const said = await here('batch', 'get', id, '--forecast')
    assert.equal(said.exit, EXIT.ok, said.err)
    assert.match(said.out, /\nprepare +10:50 CET +12:20 CET +its pace +30 steps left at 1 step/)
    assert.match(
      said.out,
      /\ncutover +10:50 CET +11:30 CET +13:40 CET +pace of other phases +40 steps/,
    )
    assert.match(said.out, /\nThe batch ends about 11:30 CET, latest 13:40 CET: 70 steps left/)
    assert.match(said.out, late)
    assert.match((await here('batch', 'get', id)).out, late)
    const status = await here('status')
    assert.equal(status.exit, EXIT.needed)
    assert.match(status.out, late)
    assert.match(status.out, new RegExp(`matoolkit batch get ${id} --forecast\n`))
    const { phases } = await cli.json<{ phases: object[] }>('batch', 'get', id, '--forecast')
    assert.equal(phases.length, 2)
    assert.equal((await here('batch', 'get', '1', '--forecast')).out.includes('will miss'), false)
  })
})

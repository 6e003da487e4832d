// `matoolkit hold` and `matoolkit resume`: stop first, ask afterwards; every overview tells what is held.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { plain } from '../../api/contract/fixtures.ts'
import { runbook } from '../../stories/looking.ts'
import { people } from '../../stories/world.ts'
import { type Cli, openCli } from '../against-api.ts'

const WHY = ['--reason', 'mail loops']
const SCOPES = [
  ['--all'],
  ['--runbook', 'Plain'],
  ['--worker', 'w1'],
  ['--batch', '1'],
  ['--member', '1', 'user1@contoso.example'],
]

async function openBusy(): Promise<Cli> {
  const cli = await openCli()
  const { world } = cli.api
  await world.publish(plain())
  const members = people(3).map(({ key }) => ({
    key,
    data: { UserPrincipalName: key, Action: 'x', Site: 's' },
  }))
  await world.batch('plain', members, { startsInMin: 30 })
  await world.orchestrate()
  return cli
}

describe('stop everything and resume', () => {
  let cli: Cli
  before(async () => {
    cli = await openBusy()
  })
  after(() => cli.close())

  it('holds before it asks for the reason, and says what stopped', async () => {
    const { world } = cli.api
    world.answer = () => 'silent'
    await world.work(1)
    let heldWhenAsked = 0
    const answers = ['mail loops']
    const held = await cli.person(
      {
        answers,
        onAsk: async () => {
          heldWhenAsked = (await world.db.query('select from holds')).length
        },
      },
      'hold',
      '--all',
    )
    assert.equal(held.exit, 0, held.err)
    assert.equal(heldWhenAsked, 1)
    assert.match(
      held.out,
      /^The whole system is held\. Nothing new is sent: 2 jobs were withdrawn, 1 job is running and finishes\./,
    )
    assert.match(held.out, /reason +mail loops/)
    await world.settle()
    assert.equal(world.jobs.length, 1)
  })

  it('every overview says so on its first line', async () => {
    for (const words of ['batch list', 'batch get 1', 'worker list', 'runbook list']) {
      const { out } = await cli.cli(...words.split(' '))
      assert.match(
        out,
        /^The whole system is held since .* by .*: mail loops\. End it with: matoolkit resume --all\n/,
        words,
      )
    }
    assert.match((await cli.cli('batch', 'list')).out, /\n *1 +plain .*held/)
    const doctor = await cli.cli('doctor')
    assert.match(doctor.out, /holds +warning +1 hold is in force/)
    assert.match((await cli.cli('status', '1')).out, /held .*matoolkit resume --all/)
    assert.match((await cli.cli('hold')).out, /^SCOPE +WHAT.*\nsystem +the whole system/)
  })

  it('a second hold is refused; the reason can be changed', async () => {
    const again = await cli.cli('hold', '--all', ...WHY)
    assert.deepEqual([again.exit, /already held/.test(again.err)], [EXIT.conflict, true])
    const said = await cli.cli('hold', 'reason', '--all', '--reason', 'a connector loops')
    assert.equal(said.exit, 0, said.err)
    assert.match((await cli.cli('hold', 'list')).out, /a connector loops/)
  })

  it('resume shows what starts at once, and asks', async () => {
    const { world } = cli.api
    const unsure = await cli.person({ answers: ['n'] }, 'resume', '--all', ...WHY)
    assert.match(
      unsure.err,
      /^warning: Batch 1: step \S+ of phase \S+, which waited for the resume, goes out for 2 people\n/,
    )
    assert.match(unsure.err, /Resume the whole system\? At once start: 2 steps in 1 batch\./)
    const script = await cli.script('resume', '--all', ...WHY)
    assert.notEqual(script.exit, 0)
    await world.settle()
    assert.equal(world.jobs.length, 1)
    const done = await cli.person({ answers: ['y'] }, 'resume', '--all', ...WHY)
    assert.equal(done.exit, 0, done.err)
    await world.settle()
    assert.equal(world.jobs.length, 3)
    assert.match((await cli.cli('hold', 'list')).out, /^Nothing is held\./)
    assert.doesNotMatch((await cli.cli('batch', 'list')).out, /held/)
  })
})

describe('a hold of each scope', () => {
  let cli: Cli
  before(async () => {
    cli = await openBusy()
  })
  after(() => cli.close())

  for (const scope of SCOPES) {
    it(`hold ${scope.join(' ')}, list it, resume it`, async () => {
      const held = await cli.cli('hold', ...scope, ...WHY)
      assert.equal(held.exit, 0, held.err)
      assert.match(
        held.out,
        / is held\. Nothing new is sent(?:: (?:[1-9] jobs? (?:was|were) withdrawn|no job was waiting), |; no job was waiting or running\.)/,
      )
      const { holds } = await cli.json<{ holds: { endsWith: string }[] }>('hold', 'list')
      const [, ...resume] = holds[0]!.endsWith.split(' ')
      // The command that the list shows is the one that works.
      const done = await cli.cli(...resume, ...WHY, '--yes')
      assert.equal(done.exit, 0, done.err)
      assert.match((await cli.cli('hold')).out, /^Nothing is held\./)
      await cli.api.world.orchestrate()
    })
  }

  it('members by name: held after a preview, shown, resumed; the others are not', async () => {
    const [one, two] = ['user1@contoso.example', 'user2@contoso.example']
    for (const wrong of [['--all'], ['--batch', '1'], ['--worker', 'w1', '--members', one]])
      assert.equal((await cli.cli('hold', ...wrong, '--dry-run')).exit, EXIT.usage)
    const dry = await cli.cli('hold', '--batch', '1', '--members', `${one},${two}`, '--dry-run')
    assert.match(dry.out, /^2 people would be held: user1@.*, user2@.*\.\nDry run/)
    assert.match((await cli.cli('hold')).out, /^Nothing is held\./)
    const held = await cli.cli(
      'hold',
      '--batch',
      '1',
      '--members',
      `${one},${two}`,
      ...WHY,
      '--yes',
    )
    assert.equal(held.exit, 0, held.err)
    assert.match(held.out, /^2 people were held: .*\n\d jobs? (was|were) withdrawn; /)
    const { members } = await cli.json<{ members: { memberKey: string; held: object | null }[] }>(
      'batch',
      'members',
      '1',
    )
    assert.deepEqual(
      members.flatMap(({ memberKey, held: own }) => (own ? [memberKey] : [])),
      [one, two],
    )
    const again = await cli.cli('hold', '--batch', '1', '--members', one, ...WHY, '--yes')
    assert.deepEqual([again.exit, /is already held by/.test(again.err)], [6, true])
    const resumed = await cli.cli('resume', '--batch', '1', '--held', ...WHY, '--yes')
    assert.match(resumed.out, /^2 people were resumed: .*\nAt once: \d steps? starts?\./)
    assert.match((await cli.cli('hold')).out, /^Nothing is held\./)
    await cli.api.world.orchestrate()
  })

  it('a reason without quotes holds, and all its words are the reason', async () => {
    for (const [held, resumed] of [
      [
        ['hold', '--all'],
        ['resume', '--all', '--yes'],
      ],
      [
        ['hold', '--batch', '1'],
        ['resume', '--batch', '1'],
      ],
    ] as const) {
      const said = await cli.script(...held, '--reason', 'mail', 'bounces', 'everywhere')
      assert.equal(said.exit, 0, said.err)
      assert.match((await cli.cli('hold', 'list')).out, /mail bounces everywhere/)
      assert.equal((await cli.script(...resumed, ...WHY)).exit, 0)
    }
    const said = await cli.script('hold', '--all', 'mail')
    assert.deepEqual([said.exit, /"mail" is no action/.test(said.err)], [EXIT.usage, true])
  })

  it('hold --all --wait returns when the last running job has ended', async () => {
    const held = await cli.cli('hold', '--all', '--wait', ...WHY)
    assert.equal(held.exit, 0, held.err)
    assert.match(held.out, /The last running job has ended: nothing runs now\./)
    await cli.cli('resume', '--all', ...WHY, '--yes')
  })

  it('overviews show a held runbook, worker and member', async () => {
    for (const scope of [SCOPES[1]!, SCOPES[2]!, SCOPES[4]!])
      await cli.cli('hold', ...scope, ...WHY)
    assert.match((await cli.cli('runbook', 'list')).out, /HELD *\n *plain .*mail loops/)
    assert.match((await cli.cli('worker', 'list')).out, /HELD *\n *w1 .*mail loops/)
    assert.match((await cli.cli('batch', 'list')).out, /plain .*held/)
    const { out } = await cli.cli('batch', 'get', '1')
    assert.match(
      out,
      /^Runbook plain is held since .*\nMember user1@contoso\.example of batch 1 is held/,
    )
    for (const scope of [SCOPES[1]!, SCOPES[2]!, SCOPES[4]!])
      await cli.cli('resume', ...scope, ...WHY)
  })

  it('batch hold holds first too; no answer leaves the hold in place and says so', async () => {
    const held = await cli.person({ answers: [''] }, 'hold', '--batch', '1')
    assert.equal(held.exit, 0, held.err)
    assert.match(
      held.err,
      /Batch 1 stays held without a reason\. Give one with: matoolkit hold reason --batch 1 --reason <text>/,
    )
    await cli.api.world.settle()
    assert.equal(cli.api.world.jobs.length, 0)
    const said = await cli.cli('hold', 'reason', '--batch', '1', ...WHY)
    assert.equal(said.exit, 0, said.err)
    assert.match((await cli.cli('batch', 'get', '1')).out, /held +since .*mail loops/)
    assert.equal((await cli.cli('resume', '--batch', '1', ...WHY)).exit, 0)
  })

  it('batch get tells the window, the shares of a ramp and the point of no return', async () => {
    const { world } = cli.api
    const finish =
      '{ name: finish, worker_id: w1, function: Complete-MigrationUser, params: { Identity: "{{UserPrincipalName}}" } }'
    const phases = { 'cutover T-0 ramp: [34%, 100%], soak: 30m': [finish] }
    const nights = 'windows: { time_zone: UTC, hours: [{ from: "22:00", to: "06:00" }] }'
    await world.publish(runbook('nightly', phases, nights))
    const members = [1, 2, 3].map((n) => ({
      key: `n${n}@x.example`,
      data: { UserPrincipalName: `n${n}` },
    }))
    const batchId = String(await world.batch('nightly', members, { startsInMin: 0 }))
    await world.settle()
    const get = async () => (await cli.cli('batch', 'get', batchId)).out
    const waiting = await get()
    assert.match(waiting, /change window +closed, opens at .*22:00 UTC/)
    assert.match(
      waiting,
      /cutover starts in shares: 34 % runs, 100 % to come; 0 of 2 members failed so far, 30 % may/,
    )
    assert.match(waiting, /cutover has the point of no return: finish/)
    const plan = await cli.cli('runbook', 'plan', 'nightly', '--batch', batchId)
    assert.match(plan.out, /Phase cutover: changes wait for the change window, which opens .*22:00/)
    assert.match(plan.out, /Phase cutover: point of no return: finish\./)
    const order = [
      'batch',
      'override-window',
      batchId,
      '--until',
      '2026-03-02T09:00:00Z',
      ...WHY,
      '--yes',
    ]
    const overridden = await cli.cli(...order)
    assert.equal(overridden.exit, 0, overridden.err)
    assert.match(overridden.out, /2 steps wait and may be sent now; 0 jobs are out\./)
    assert.match(await get(), /change window +open, closes at .*09:00 UTC; overridden by /)
    const end = ['batch', 'override-window', batchId, '--end', ...WHY, '--yes']
    assert.match(
      (await cli.cli(...end)).out,
      /2 steps wait for the window; 0 jobs are out\. Outside/,
    )
    assert.doesNotMatch(await get(), /overridden/)
    assert.doesNotMatch((await cli.cli('batch', 'get', '1')).out, /change window|shares|no return/)
    assert.deepEqual(
      world.jobs.filter((job) => job.batchId === Number(batchId)),
      [],
    )
  })

  it('does not ask in a pipe', async () => {
    const held = await cli.script('hold', '--worker', 'w1')
    assert.equal(held.exit, 0, held.err)
    assert.equal(
      (JSON.parse(held.out) as { hold: { reason: string } }).hold.reason,
      'no reason given yet',
    )
    await cli.script('resume', '--worker', 'w1', ...WHY)
  })

  it('refuses what it cannot understand', async () => {
    const wrong: [string[], RegExp][] = [
      [['hold', '--all', '--batch', '1'], /Name one of them, not --all and --batch/],
      [['hold', '--member', '1', ...WHY], /--member takes the id of the batch and the member/],
      [['hold', 'everything'], /"everything" is no action/],
      [['resume', ...WHY], /Say what to resume: --all/],
    ]
    for (const [words, sentence] of wrong) {
      const { exit, err } = await cli.cli(...words)
      assert.equal(exit, EXIT.usage, err)
      assert.match(err, sentence)
    }
    const unknown = await cli.cli('hold', '--worker', 'nobody', ...WHY)
    assert.deepEqual(
      [unknown.exit, /There is no worker "nobody"/.test(unknown.err)],
      [EXIT.notFound, true],
    )
    assert.match((await cli.cli('hold')).out, /^Nothing is held\./)
  })
})

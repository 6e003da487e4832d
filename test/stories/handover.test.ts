// The end of a shift: one text says what the next person has to know, in both tenants' waves; needs have owners, and what people accepted
// needs no one until there is more to it.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../src/base/errors/errors.ts'
import { type Cli, openCli } from '../cli/against-api.ts'
import { runbook, step } from './looking.ts'
import { people } from './world.ts'

const WAVE = runbook('wave', {
  'prepare T-1h': [step('create')],
  'cutover T-0 gate: { approvals: 1 }': [step('switch')],
})
const OTHER = runbook('other', { 'later T-0': [step('later')] })
const HOUR = 3_600

describe('a hand-over', () => {
  let cli: Cli
  before(async () => {
    cli = await openCli()
    const { world } = cli.api
    world.answer = ({ parameters }) =>
      /^user[34]@/.test(String(parameters.Upn)) ? { fail: 'no licence' } : { ok: true }
    await world.publish(WAVE)
    await world.publish(OTHER)
    await world.batch('wave', people(6), { startsInMin: 100 })
    await world.batch('other', people(9).slice(6), { startsInMin: 20 * 60 })
    await world.pass(HOUR)
  })
  after(() => cli.close())
  const handover = (...args: string[]) => cli.cli('handover', ...args)

  it('says in one text: verdict, needs with the key to decide, waves, what comes next', async () => {
    const { exit, out } = await handover()
    assert.equal(exit, EXIT.needed)
    assert.match(
      out,
      /^Hand-over at .*09:00 UTC, since .*21:00 UTC\nAction needed: Phase cutover of batch 1 has 0 of 1 approvals/,
    )
    assert.match(
      out,
      /\n- 2 people of batch 1 failed\. No one has it yet \(people_failed:1\)\n {4}matoolkit failures 1\n/,
    )
    assert.match(out, /\nWaves\n- batch 1 of wave, cut-over .*09:40 UTC: 4 preparing, 2 failed/)
    assert.match(
      out,
      /\nWhat comes next\n- .*09:40 UTC: cutover of batch 1\n- .*04:00 UTC: later of batch 2/,
    )
    assert.doesNotMatch(out, /user\d@/, 'it names no person')
    assert.doesNotMatch(out, /: read /, 'who looked at what is no decision')
  })

  it('gives a need an owner, on every screen', async () => {
    const take = ['--need', 'people_failed:1', '--owner', 'ben', '--reason', 'asks the vendor']
    const { exit, out } = await handover(...take)
    assert.equal(exit, EXIT.ok)
    assert.match(out, /2 people of batch 1 failed\. ben takes care of it\. .*: asks the vendor/)
    assert.match(
      (await handover()).out,
      /ben takes care of it\. .*asks the vendor \(people_failed:1\)/,
    )
    assert.match(
      (await handover()).out,
      /\nWhat people decided\n(?:- .*\n)*- .*need\.decide need people_failed:1, because asks the vendor/,
    )
  })

  it('accepts failures until there is another one, and never a gate', async () => {
    const accept = ['--accept', '--reason', 'moved by hand']
    const accepted = await handover('--need', 'people_failed:1', ...accept)
    assert.equal(accepted.exit, EXIT.ok, accepted.err)
    const { out } = await handover()
    assert.match(out, /\nAs planned, or accepted\n- 2 people of batch 1 failed, accepted by /)
    assert.doesNotMatch(out, /\nWhat needs action\n(?:[- ].*\n)*- 2 people/)
    const { needs } = (await cli.api.call<{ needs: { key: string }[] }>('GET', '/api/needs')).body
    assert.deepEqual(
      needs.map(({ key }) => key.split(':')[0]),
      ['gate_waiting'],
    )
    const gate = await handover('--need', needs[0]!.key, ...accept)
    assert.notEqual(gate.exit, EXIT.ok)
    assert.match(gate.err, /cannot be accepted/)
  })

  it('still has the failures a day and more after the wave ended', async () => {
    const { world } = cli.api
    await cli.cli('batch', 'cancel', '1', '--reason', 'done by hand', '--yes')
    await world.pass(33 * HOUR)
    const { out } = await cli.cli('status')
    assert.match(out, /2 people of batch 1 failed/)
    const { out: failures } = await cli.cli('failures', '1')
    assert.match(failures, /no licence/)
  })
})

// Messages to people at the command line: who was told what and when.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { DAY, person, wave } from '../scenarios/message-wave.ts'
import { type Cli, openCli } from './against-api.ts'

describe('messages to people', () => {
  let cli: Cli
  before(async () => {
    cli = await openCli()
    const { world } = cli.api
    world.answer = ({ parameters }) =>
      parameters.To === 'max@contoso.example' ? { fail: 'the mailbox is full' } : { ok: true }
    await world.publish(wave())
    const people = [person('ada', 'de-AT'), person('kim', 'fr'), person('max')]
    await world.batch('wave', people, { startsInMin: 14 * DAY })
    await world.settle()
  })
  after(() => cli.close())

  it('are listed with language, address, time and the start that was told, and counted', async () => {
    const { out, err } = await cli.cli('batch', 'told', '1', '--sort', 'key')
    assert.equal(err, '')
    assert.match(out, /^MEMBER +MESSAGE +STATE +LANGUAGE +TO +AT +START TOLD/)
    assert.match(
      out,
      /ada@\S+ +notice +told +de +ada@\S+ +Mon 02 Mar 2026 08:00 UTC +Mon 16 Mar 2026 08:00 UTC/,
    )
    assert.match(out, /announce\/tell \(notice\): 2 told, 1 failed, 0 not told\n/)
    assert.match(out, /remind\/remind \(notice\): 0 told, 0 failed, 2 not told\n/)
    assert.doesNotMatch(out, /max@/)
    const failed = await cli.cli('batch', 'told', '1', '--state', 'failed')
    assert.match(failed.out, /max@\S+ +notice +failed .*the mailbox is full/)
    const none = await cli.cli('batch', 'told', '1', '--state', 'correction-owed')
    assert.match(none.out, /^No messages match\.\n/)
    const csv = await cli.cli('batch', 'told', '1', '--all', '--output', 'csv')
    assert.deepEqual(csv.out.trim().split(/\r?\n/).length, 3)
    const { told } = await cli.json<{ told: object[] }>(
      'batch',
      'told',
      '1',
      '--member',
      'ada@contoso.example',
    )
    assert.equal(told.length, 1)
  })

  it('stand in the story of a person', async () => {
    const { out } = await cli.cli('member', 'show', '1', 'ada@contoso.example')
    assert.match(
      out,
      /Messages to the person\n+MESSAGE[^\n]*\nnotice +not told[^\n]*\nnotice +told +de/,
    )
  })
})

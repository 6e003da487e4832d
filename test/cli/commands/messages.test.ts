// Messages to people at the command line: what was sent when, and what somebody would be sent.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { DAY, person, wave } from '../../stories/message-wave.ts'
import { type Cli, openCli } from '../against-api.ts'

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
    const { out, err } = await cli.cli('batch', 'messages', '1', '--sort', 'key')
    assert.equal(err, '')
    assert.match(out, /^MEMBER +MESSAGE +STATE +LANGUAGE +TO +AT +START SENT/)
    assert.match(
      out,
      /ada@\S+ +notice +sent +de +ada@\S+ +Mon 02 Mar 2026 08:00 UTC +Mon 16 Mar 2026 08:00 UTC/,
    )
    assert.match(out, /announce\/tell \(notice\): 2 sent, 1 failed, 0 not sent\n/)
    assert.match(out, /remind\/remind \(notice\): 0 sent, 0 failed, 2 not sent\n/)
    assert.doesNotMatch(out, /max@/)
    const failed = await cli.cli('batch', 'messages', '1', '--state', 'failed')
    assert.match(failed.out, /max@\S+ +notice +failed .*the mailbox is full/)
    const none = await cli.cli('batch', 'messages', '1', '--state', 'correction-owed')
    assert.match(none.out, /^No messages match\.\n/)
    const csv = await cli.cli('batch', 'messages', '1', '--all', '--output', 'csv')
    assert.deepEqual(csv.out.trim().split(/\r?\n/).length, 3)
    const { messages } = await cli.json<{ messages: object[] }>(
      'batch',
      'messages',
      '1',
      '--member',
      'ada@contoso.example',
    )
    assert.equal(messages.length, 1)
  })

  it('stand in the story of a person', async () => {
    const { out } = await cli.cli('member', 'show', '1', 'ada@contoso.example')
    assert.match(
      out,
      /Messages to the person\n+MESSAGE[^\n]*\nnotice +not sent[^\n]*\nnotice +sent +de/,
    )
  })

  it('are shown as a member of a batch would get them, and nothing is sent', async () => {
    const sent = cli.api.world.jobs.length
    const ask = ['runbook', 'preview-message', '--batch', '1', '--message', 'notice']
    const { out, err } = await cli.cli(...ask, '--member', 'kim@contoso.example')
    assert.equal(err, '')
    assert.match(out, /^message +notice\n/)
    assert.match(out, /language +en: the step asks for "fr", which the message does not have/)
    assert.match(
      out,
      /subject +Your move, kim\n\nBody, HTML:\n<p>kim: Monday, 16 March 2026, 09:00 CET<\/p>\n$/,
    )
    const german = await cli.json<{ subject: string }>(...ask, '--member', '2', '--language', 'de')
    assert.equal(german.subject, 'Ihr Umzug, kim')
    assert.equal((await cli.cli(...ask)).exit, EXIT.usage)
    assert.equal(cli.api.world.jobs.length, sent)
  })

  it('are shown from a file without a server, with missing values by line and column', async () => {
    const file = cli.file('wave.yaml', wave())
    const header = 'UserPrincipalName,Mail,Name,Language,When'
    const rows = [
      'ada@x.example,ada@x.example,Ada,de,2030-03-01T20:00:00Z',
      'bo@x.example,,<Bo>,,2030-03-01T20:00:00Z',
    ]
    const members = cli.file('wave.csv', [header, ...rows].join('\n'))
    const ask = ['runbook', 'preview-message', file, '--members', members]
    const first = await cli.cli(...ask, '--message', 'notice')
    assert.equal(first.exit, EXIT.ok, first.err)
    assert.match(
      first.out,
      /to +ada@x\.example\n.*language +de: the step asks for it\nstart +Freitag, 1\. März 2030, 21:00 MEZ/s,
    )
    const second = await cli.cli(...ask, '--member', 'BO@x.example')
    assert.match(second.out, /<p>&lt;Bo&gt;: Friday, 1 March 2030/)
    assert.match(second.err, /warning: "" is not an address: nothing can be sent\./)
    const moved = await cli.cli(...ask, '--message', 'moved')
    assert.match(moved.out, /Nicht Freitag, 22\. Februar 2030, sondern Freitag, 1\. März 2030/)
    const fewer = cli.file(
      'fewer.csv',
      [
        'UserPrincipalName,Mail,Language,When',
        'ada@x.example,a@x.example,de,2030-03-01T20:00:00Z',
      ].join('\n'),
    )
    const lacking = await cli.cli('runbook', 'preview-message', file, '--members', fewer)
    assert.equal(lacking.exit, EXIT.failed)
    assert.match(
      lacking.err,
      /wave\.yaml:\d+:\d+: error: Nothing sets \{\{Name\}\} for this member\./,
    )
    const nobody = await cli.cli(...ask, '--member', 'zoe@x.example')
    assert.match(nobody.err, /no usable row for "zoe@x\.example"/)
    const unknown = await cli.cli(...ask, '--message', 'notise')
    assert.equal(unknown.exit, EXIT.notFound)
    for (const format of ['json', 'yaml', 'csv'])
      assert.match((await cli.cli(...ask, '--output', format)).out, /Ihr Umzug, Ada/)
  })
})

// Messages in a rehearsal: who would have been told what and when; a wave that gets another date corrects everybody who was told, once.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { namedFaults } from '../../../src/app/rehearsal/faults.ts'
import { showRehearsal } from '../../../src/app/rehearsal/report-text.ts'
import { makeShow } from '../../../src/cli/terminal/show.ts'
import { recordingIo } from '../../cli/recording-io.ts'
import { example, rehearseText } from './rehearsing.ts'

const YAML = `${example('announced-wave.yaml')}\nsafeguards: { max_failed_percent: 50 }\n`
// Emil has no address.
const CSV = `${example('announced-wave.csv').trim()}\nemil@contoso.example,Emil,,de,2030-03-01T20:00:00Z\n`

it('counts messages by phase and language, and one correction for each person after a new date', async () => {
  const report = await rehearseText(YAML, CSV, { faults: namedFaults('redated-approved')! })
  const { messages, warnings, members } = report
  assert.deepEqual(
    messages.sent.map(
      (one) => `${one.phase} ${one.message} ${one.language} ${one.sent} ${one.corrections}`,
    ),
    [
      'announce announcement de 1 0',
      'announce announcement en 3 0',
      'remind reminder de 1 0',
      'remind reminder en 3 0',
      'remind new-date de 1 1',
      'remind new-date en 3 3',
      'cutover done de 1 0',
      'cutover done en 3 0',
    ],
  )
  assert.equal(messages.sent[0]!.firstAt.slice(0, 16), '2030-02-15T20:00')
  assert.deepEqual(messages.loads[0], { batchId: 1, phase: 'announce', mails: 4, takesSec: 8 })
  assert.equal(messages.from, 'migration@contoso.example')
  assert.deepEqual(messages.withoutAddress, { count: 1, people: ['emil@contoso.example'] })
  assert.equal(messages.inDefaultLanguage.count, 2)
  assert.match(warnings.join('\n'), /1 member has no address for messages: emil@contoso\.example\./)
  assert.equal(members.failed, 1)
  const moved = messages.examples.find(({ message }) => message === 'new-date')!
  assert.match(moved.body, /nicht am Freitag, 1\. März 2030, sondern am Samstag, 2\. März 2030/)
  // The announcement was not sent again: the reminder tells the same person later, and its correction counts.
  const io = recordingIo({ width: 200 })
  await showRehearsal(report, makeShow('table', io), io)
  const text = io.outText()
  assert.match(text, /\nMessages\nPHASE[^\n]*\nannounce +tell +announcement +de +1 +0 /)
  assert.match(
    text,
    /4 messages of phase announce of batch 1: takes 8s at 30 a minute from migration@contoso\.example\./,
  )
  assert.match(text, /2 members get the default language: chloe\.caron@contoso\.example, dana/)
})

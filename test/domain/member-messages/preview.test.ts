// A message before it is sent: the same text as the one that is sent, the language with its reason, and missing values with their place.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Json } from '../../../src/base/text/json.ts'
import { messageParams } from '../../../src/domain/member-messages/message-text.ts'
import { type PreviewFacts, previewMessage } from '../../../src/domain/member-messages/preview.ts'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { scopeOf } from '../../../src/domain/runbook/template.ts'
import { inDays, person, wave } from '../../stories/message-wave.ts'

const YAML = wave()
const runbook = readRunbook(YAML).runbook!
const START = inDays(14)

const facts = (data: Record<string, Json>, more: Partial<PreviewFacts> = {}): PreviewFacts => ({
  runbook,
  yaml: YAML,
  message: 'notice',
  language: null,
  batchId: 7,
  batchOutputs: {},
  member: { key: 'ada@contoso.example', data, outputs: {} },
  startTime: START,
  formerTime: null,
  ...more,
})
function preview(data: Record<string, Json>, more: Partial<PreviewFacts> = {}) {
  const found = previewMessage(facts(data, more))
  assert.ok(!('unknown' in found), JSON.stringify(found))
  return found
}
const ada = person('ada', 'de-AT').data

it('is what would be sent', () => {
  const { subject, body, to, from, language, isHtml } = preview(ada)
  const { notify } = runbook.phases[0]!.steps[0]!
  const sent = messageParams(runbook.messages!, notify!, {
    scope: scopeOf([ada]),
    startTime: START,
    correctsTime: null,
    messageId: 'm',
  })
  assert.ok(sent.ok)
  const { Subject, Body, To, From, Language, ContentType } = sent.value
  assert.deepEqual([subject, body, to, from, language], [Subject, Body, To, From, Language])
  assert.equal(isHtml, ContentType === 'HTML')
})

it('says which language was chosen, and why', () => {
  const because = (Language: Json, language: string | null = null) => {
    const {
      language: chosen,
      isFallback,
      languageBecause,
    } = preview({ ...ada, Language }, { language })
    return `${chosen}${isFallback ? '!' : ''} ${languageBecause}`
  }
  assert.equal(because('de'), 'de the step asks for it')
  assert.equal(because('de_AT'), 'de the step asks for "de_AT", and the message has de')
  assert.equal(
    because('fr'),
    'en! the step asks for "fr", which the message does not have, and en is the default',
  )
  assert.equal(because(null), 'en! nothing names a language, and en is the default')
  assert.equal(because('fr', 'de'), 'de the preview asks for it')
})

it('shows a correction with what was told, and never the same date twice', () => {
  const told = preview(ada, { message: 'moved', formerTime: inDays(7), language: 'en' })
  assert.deepEqual(
    [told.isCorrection, told.body, told.stepName],
    [true, 'Not Monday, 9 March 2026 but Monday, 16 March 2026', 'tell'],
  )
  const same = preview(ada, { message: 'moved', formerTime: START, language: 'en' })
  assert.equal(same.body, 'Not Monday, 9 March 2026 but Monday, 16 March 2026')
  assert.deepEqual(same.messages, ['notice', 'moved'])
  assert.equal(preview(ada).formerText, null)
})

it('names a missing value with line and column, and leaves its name in the text', () => {
  const { Name, Mail, ...without } = ada as Record<string, Json>
  const { problems, subject, body, warnings } = preview({ ...without, Names: 'x' })
  const lines = YAML.split('\n')
  const found = problems.map(({ line, column, path, message }) => {
    assert.match(lines[line - 1]!.slice(column - 1), /^"?\{\{(Mail|Name)\}\}/)
    return `${path} ${message}`
  })
  assert.deepEqual(found, [
    'phases[0].steps[0].notify.to Nothing sets {{Mail}} for this member.',
    'messages.templates.notice.texts.de.subject Nothing sets {{Name}} for this member. Did you mean {{Names}}?',
    'messages.templates.notice.texts.de.body Nothing sets {{Name}} for this member. Did you mean {{Names}}?',
  ])
  assert.match(subject, /\{\{Name\}\}/)
  assert.match(body, /\{\{Name\}\}/)
  assert.deepEqual(warnings, [])
})

it('warns of an address that nobody can have, and escapes what people are called', () => {
  const { warnings, body } = preview({ ...ada, Mail: '', Name: '<script>alert(1)</script>' })
  assert.deepEqual(warnings, ['"" is not an address: nothing can be sent.'])
  assert.match(body, /&lt;script&gt;/)
  assert.doesNotMatch(body, /<script/)
})

it('knows only messages that somebody gets', () => {
  const unknown = (message: string) =>
    (previewMessage(facts(ada, { message })) as { unknown: string }).unknown
  assert.match(unknown('notise'), /Did you mean "?notice/)
  assert.match(unknown('zzzz'), /There are notice, moved|notice/)
})

// Runbooks of the earlier system become valid without changing what they did there; what is not certain stays for a person.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { convertRunbook } from '../../../src/domain/runbook/convert.ts'
import { readRunbook } from '../../../src/domain/runbook/read.ts'

const EARLIER = `# Ours
name: Contoso Mailbox Migration
owner: ann@contoso.com   # ignored
rety:
  max_retries: 1
data_source:
  type: sql
  connection: SQL_CONNECTION_STRING
  query: select * from people
  primary_key: Upn
  batch_time_column: CutoverTime
  batch_time: immediate
init:
on_member_removed: []
phases:
  - name: "Pre-notification (mail)"
    offset: T- 5D
    steps:
      - name: Human-readable step name
        worker_id: worker-01
        function: Send-Notice
        params:
          Upn: "{{Upn}}"
        on_failure: Undo mailbox move
        on_failure: undo  the move
        poll: { interval: 15 M, timeout: 4h }
rollbacks:
  undo  the move:
    - name: revert mailbox
      worker_id: worker-01
      function: Undo-MailboxMove
      on_failure: again
`

const CONVERTED = `# Ours
name: Contoso-Mailbox-Migration
x-owner: ann@contoso.com   # ignored
rety:
  max_retries: 1
data_source:
  type: sql
  connection: MATOOLKIT_SOURCE_SQL_CONNECTION_STRING
  query: select * from people
  primary_key: Upn
  batch_time: immediate
on_member_removed: []
phases:
  - name: Pre-notification-mail
    offset: T-5d
    steps:
      - name: Human-readable-step-name
        worker_id: worker-01
        function: Send-Notice
        params:
          Upn: "{{Upn}}"
        on_failure: undo-the-move
        poll: { interval: 15m, timeout: 4h }
rollbacks:
  undo-the-move:
    - name: revert-mailbox
      worker_id: worker-01
      function: Undo-MailboxMove
`

const codes = (text: string) => readRunbook(text).problems.map(({ code }) => code)

describe('a runbook of the earlier system', () => {
  it('is converted, comments and all, and what may be a slip is left', () => {
    const { text, conversions } = convertRunbook(EARLIER, {})
    assert.equal(text, CONVERTED)
    assert.deepEqual(codes(text), ['UNKNOWN_KEY'], '"rety" may mean "retry"')
    const lines = conversions.map(({ code, from, to }) => `${code} ${from} > ${to}`)
    assert.ok(lines.includes('TWO_BATCH_TIMES batch_time_column: CutoverTime > null'))
    assert.ok(lines.includes('DUPLICATE_KEY on_failure: Undo mailbox move > null'))
    assert.equal(lines.length, 14, lines.join('\n'))
  })

  it('stays as it is once it is converted, and so does a valid one', () => {
    const again = convertRunbook(CONVERTED, {})
    assert.deepEqual([again.text, again.conversions], [CONVERTED, []])
  })

  it('keeps CRLF, and an entry that shares its line is left alone', () => {
    const crlf = EARLIER.replaceAll('\n', '\r\n')
    assert.equal(convertRunbook(crlf, {}).text, CONVERTED.replaceAll('\n', '\r\n'))
    const shared = CONVERTED.replace(
      'function: Undo-MailboxMove',
      'function: Undo-MailboxMove\n    - { name: x, worker_id: w, function: F, on_failure: a }',
    )
    assert.equal(convertRunbook(shared, {}).text, shared)
  })

  for (const broken of ['', 'name: [', '- a', 'name: "a\u0000"', 'x: &a 1\ny: *a'])
    it(`is left alone when it cannot be read: ${JSON.stringify(broken)}`, () => {
      assert.deepEqual(convertRunbook(broken, {}), { text: broken, conversions: [] })
    })

  it('another worker is never chosen for its author', () => {
    const text = CONVERTED.replaceAll('worker-01', 'worker 01')
    assert.equal(convertRunbook(text, {}).text, text)
  })
})

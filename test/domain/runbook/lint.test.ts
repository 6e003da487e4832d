// Every migration rule finds its mistake at its place, is silent about the runbook without it, and can be ignored with a reason.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LINT_RULES, type LintRuleId } from '../../../src/domain/runbook/lint/lint-rules.ts'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { M365_CATALOGUE } from '../../../src/m365/catalogue.ts'

/** A careful migration; each case below makes one mistake in it. */
const CAREFUL = `name: wave
data_source:
  type: csv
  path: people.csv
  primary_key: Upn
  batch_time_column: Start
  columns: [Upn, Start, Guid]
retry: {max_retries: 2, interval: 1m}
safeguards:
  max_removal_percent: 10
phases:
  - name: prepare
    offset: T-5d
    steps:
      - name: create
        worker_id: target
        function: New-EntraUser
        params: {DisplayName: a, UserPrincipalName: "{{Upn}}", MailNickname: b}
        output_params: {Id: Id}
      - name: stamp
        worker_id: target
        function: Set-ExchangeMailUserGuids
        params: {Identity: "{{Id}}", ExchangeGuid: "{{Guid}}"}
        on_failure: take-back
      - name: licence-of-move
        worker_id: target
        function: Add-EntraUserLicense
        params: {UserId: "{{Id}}", SkuId: CROSS_TENANT_USER_DATA_MIGRATION}
        on_failure: take-back
      - name: tell
        worker_id: target
        function: Send-Notification
        params: {From: a@b.example, To: "{{Upn}}", Subject: s, Body: b}
        retry: {max_retries: 0}
  - name: cutover
    offset: T-0
    steps:
      - name: complete
        worker_id: target
        function: Complete-MigrationUser
        params: {Identity: "{{Upn}}"}
        on_failure: stop
      - name: wait
        worker_id: target
        function: Test-MigrationUser
        params: {Identity: "{{Upn}}"}
        poll: {interval: 5m, timeout: 6h}
      - name: licence
        worker_id: target
        function: Add-EntraUserLicense
        params: {UserId: "{{Id}}", SkuId: ENTERPRISEPACK}
        on_failure: no-licence
  - name: aftercare
    offset: T+7d
    steps:
      - name: check
        worker_id: target
        function: Test-EntraAttributeMatch
        params: {UserId: "{{Upn}}", AttributeName: department, ExpectedValue: x}
on_member_removed:
  - name: close
    worker_id: target
    when: [{variable: Id, present: true}]
    function: Disable-EntraUser
    params: {UserId: "{{Id}}"}
rollbacks:
  take-back:
    - name: remove
      worker_id: target
      function: Remove-EntraUser
      params: {UserId: "{{Id}}"}
  stop:
    - name: stop
      worker_id: target
      function: Stop-MigrationUser
      params: {Identity: "{{Upn}}"}
  no-licence:
    - name: free
      worker_id: target
      function: Remove-EntraUserLicense
      params: {UserId: "{{Id}}", SkuId: ENTERPRISEPACK}
`

interface Mistake {
  readonly id: LintRuleId
  /** «…» marks where the warning stands. */
  readonly edit: readonly [from: string, to: string]
  readonly says: RegExp
}

const STEP = '\n        worker_id: target\n        function: '
const stepOf = (name: string, call: string) => `      - name: ${name}${STEP}${call}\n`
const LICENCE = 'SkuId: CROSS_TENANT_USER_DATA_MIGRATION}'
const WHO = '\n        params: {Identity: "{{Upn}}"'
const COPY = stepOf(
  'copy',
  `Add-MigrationUser${WHO}, BatchName: w, SourceEndpoint: e, TargetDeliveryDomain: t.onmicrosoft.com}\n        on_failure: take-back`,
)
const STAMP = `      - name: stamp${STEP}`

const AT_PREPARE =
  'phases:\n  - name: prepare\n    offset: T-5d\n    steps:\n      - name: create\n        worker_id: target\n'
const NIGHTS = 'windows: {time_zone: UTC, hours: [{from: "22:00", to: "06:00"}]}\n'

const MISTAKES: readonly Mistake[] = [
  {
    id: 'RUNS_TOO_EARLY',
    edit: [
      STAMP,
      `${stepOf('early', '«Add-EntraUserLicense»\n        params: {UserId: "{{Id}}", SkuId: ENTERPRISEPACK}\n        on_failure: take-back')}${STAMP}`,
    ],
    says: /runs before step "stamp": Exchange creates a new, empty mailbox/,
  },
  {
    id: 'CHANGE_WITHOUT_CHECK',
    edit: [
      'ExpectedValue: x}\n',
      `ExpectedValue: x}\n${stepOf('hide', '«Disable-EntraUser»\n        params: {UserId: "{{Upn}}"}')}`,
    ],
    says: /Disable-EntraUser changes something, has no rollback/,
  },
  {
    id: 'ROLLBACK_DOES_NOT_UNDO',
    edit: [`${LICENCE}\n        on_failure: take-back`, `${LICENCE}\n        on_failure: «stop»`],
    says: /"stop" does not undo Add-EntraUserLicense. Add a step with Remove-EntraUserLicense,/,
  },
  {
    id: 'ROLLBACK_DOES_NOT_UNDO',
    edit: [
      'SkuId: ENTERPRISEPACK}\n        on_failure: no-licence',
      'SkuId: SPE_E5}\n        on_failure: «no-licence»',
    ],
    says: /does not undo Add-EntraUserLicense. Add a step with Remove-EntraUserLicense for the same SkuId,/,
  },
  {
    id: 'ROLLBACK_DOES_NOT_UNDO',
    edit: [
      stepOf(
        'complete',
        'Complete-MigrationUser\n        params: {Identity: "{{Upn}}"}\n        on_failure: stop',
      ),
      stepOf(
        'complete',
        'Complete-MigrationUser\n        params: {Identity: "{{Upn}}"}\n        on_failure: «stop»',
      ).replace('target', 'source'),
    ],
    says: /Add a step with Stop-MigrationUser on worker "source",/,
  },
  {
    id: 'ROLLBACK_DELETES_COPY',
    edit: [
      `      - name: tell${STEP}`,
      COPY +
        stepOf('look', `Test-MigrationUser${WHO}}\n        on_failure: «take-back»`) +
        `      - name: tell${STEP}`,
    ],
    says: /^Step "copy" has begun to copy by now, and the rollback "take-back" runs Remove-EntraUser,/,
  },
  {
    id: 'VARIABLE_MAY_BE_LEFT_OUT',
    edit: [
      `      - name: tell${STEP}Send-Notification\n        params: {From: a@b.example, To: "{{Upn}}", Subject: s, Body: b}`,
      `      - name: look${STEP}Test-EntraAttributeMatch\n        params: {UserId: "{{Upn}}", AttributeName: department, ExpectedValue: x}\n        when: [{variable: Guid, present: true}]\n        output_params: {Found: Match}\n` +
        `      - name: tell${STEP}«Send-Notification»\n        params: {From: a@b.example, To: "{{Upn}}", Subject: s, Body: "{{Found}}"}`,
    ],
    says: /^"Found" comes from step "look" only, which is left out for some people/,
  },
  {
    id: 'PEOPLE_OF_OTHER_TENANT',
    edit: [
      `      - name: tell${STEP}`,
      `      - name: read\n        worker_id: source\n        function: Get-ExchangeMoveSource${WHO}}\n        output_params: {Senders: SendAs}\n` +
        stepOf(
          'grant',
          `«Add-ExchangeMailboxPermission»${WHO}, SendAs: "{{Senders}}"}\n        on_failure: take-back`,
        ) +
        `      - name: tell${STEP}`,
    ],
    says: /^SendAs of Add-ExchangeMailboxPermission names people of this tenant, and "Senders" was read by worker "source"/,
  },
  {
    id: 'POLL_PAST_NEXT_PHASE',
    edit: ['timeout: 6h', 'timeout: «8d»'],
    says: /may last 8d, but phase "aftercare" is due 7d after/,
  },
  {
    id: 'RETRY_NOT_IDEMPOTENT',
    edit: [
      'function: Send-Notification\n        params: {From: a@b.example, To: "{{Upn}}", Subject: s, Body: b}\n        retry: {max_retries: 0}\n',
      'function: «Send-Notification»\n        params: {From: a@b.example, To: "{{Upn}}", Subject: s, Body: b}\n',
    ],
    says: /Set "retry: \{max_retries: 0\}" on this step/,
  },
  {
    id: 'NOTICE_AFTER_CUTOVER',
    edit: [
      stepOf(
        'tell',
        'Send-Notification\n        params: {From: a@b.example, To: "{{Upn}}", Subject: s, Body: b}\n        retry: {max_retries: 0}',
      ) + CAREFUL.slice(CAREFUL.indexOf('  - name: cutover'), CAREFUL.indexOf('on_member_removed')),
      CAREFUL.slice(CAREFUL.indexOf('  - name: cutover'), CAREFUL.indexOf('on_member_removed')) +
        stepOf(
          'tell',
          '«Send-Notification»\n        params: {From: a@b.example, To: "{{Upn}}", Subject: s, Body: b}\n        retry: {max_retries: 0}',
        ),
    ],
    says: /first notice after the cut-over/,
  },
  {
    id: 'REMOVAL_DELETES',
    edit: [
      'function: Disable-EntraUser\n    params: {UserId: "{{Id}}"}',
      'function: «Remove-EntraUser»\n    params: {UserId: "{{Id}}"}',
    ],
    says: /Remove-EntraUser deletes/,
  },
  {
    id: 'REMOVAL_MAY_HIT_OTHERS',
    edit: [
      '    when: [{variable: Id, present: true}]\n    function: Disable-EntraUser\n    params: {UserId: "{{Id}}"}',
      '    function: «Disable-EntraUser»\n    params: {UserId: "{{Upn}}"}',
    ],
    says: /^Disable-EntraUser acts on \{\{Upn\}\}, a name that step "create" may have found taken/,
  },
  ...(
    [
      ['max_removal_percent: 10', 'max_removal_percent: «100»', /Use 20, the default/],
      ['max_removal_percent: 10', 'max_failed_percent: «100»', /Use 30, the default/],
      ['max_removal_percent: 10', 'removals_after_start: «run»', /Use "hold", the default/],
    ] as const
  ).map(([from, to, says]): Mistake => ({ id: 'SAFEGUARD_OFF', edit: [from, to], says })),
  {
    id: 'IRREVERSIBLE_WITHOUT_HOLD',
    edit: [
      'phases:\n',
      'init:\n  - {name: first, worker_id: target, function: «Clear-ExchangePreviousMailbox», params: {Identity: a@b.example}}\nphases:\n',
    ],
    says: /cannot be undone.*at least 1h/,
  },
  {
    id: 'GATE_ASKS_NOBODY',
    edit: ['offset: T-0', 'offset: T-0\n    gate: {approvals: «0», ready: 95%}'],
    says: /Set "approvals" to 1 or more/,
  },
  {
    id: 'STEP_PAST_WINDOW',
    edit: [
      `${AT_PREPARE}        function: New-EntraUser\n`,
      `${NIGHTS}${AT_PREPARE}        function: New-EntraUser\n        timeout: «9h»\n`,
    ],
    says: /may run 9h, and no change window is longer than 8h/,
  },
  {
    // Once for all steps without a timeout of their own.
    id: 'STEP_PAST_WINDOW',
    edit: [
      `${AT_PREPARE}        function: New-EntraUser\n`,
      `${NIGHTS.replace('06:00', '22:30')}${AT_PREPARE}        function: «New-EntraUser»\n`,
    ],
    says: /may run 1h, and no change window is longer than 30m/,
  },
  {
    id: 'PHASE_OUTSIDE_WINDOW',
    edit: [
      'phases:\n  - name: prepare\n    offset: T-5d',
      `${NIGHTS}phases:\n  - name: prepare\n    offset: «T-38h»`,
    ],
    says: /Starting Mon 22:00, it is due Sun 08:00, and its changes wait 14h, until Sun 22:00\./,
  },
  {
    id: 'NO_WINDOW_BEFORE_NEXT_PHASE',
    edit: [
      'phases:\n  - name: prepare\n    offset: T-5d',
      `${NIGHTS.replace('{from', '{days: [fri, sat], from')}phases:\n  - name: prepare\n    offset: «T-5d»`,
    ],
    says: /starts Fri 22:00, when a change window opens, this phase is due Sun 22:00, and no window opens before phase "cutover" is due: its changes wait 5d, until Fri 22:00\./,
  },
  {
    id: 'UNKNOWN_FUNCTION',
    edit: ['function: Test-MigrationUser', 'function: «Test-MigrationUsr»'],
    says: /^No known worker has the function .* Did you mean "Test-MigrationUser"\?$/,
  },
  {
    id: 'UNKNOWN_PARAMETER',
    edit: ['AttributeName: department,', 'AttributeName: department, «Expcted»: true,'],
    says: /has no parameter "Expcted"\. Did you mean "Expected"\?$/,
  },
  {
    id: 'IGNORE_UNUSED',
    edit: [
      '  - name: cutover',
      '  «# matoolkit-ignore REMOVAL_DELETES: not here»\n  - name: cutover',
    ],
    says: /Nothing here is reported as REMOVAL_DELETES/,
  },
  {
    id: 'IGNORE_INCOMPLETE',
    edit: ['  - name: cutover', '  «# matoolkit-ignore REMOVAL_DELETES»\n  - name: cutover'],
    says: /it needs an id and a reason/,
  },
  {
    id: 'IGNORE_INCOMPLETE',
    edit: ['  - name: cutover', '  «# matoolkit-ignore NO_SUCH_RULE: x»\n  - name: cutover'],
    says: /there is no rule "NO_SUCH_RULE"/,
  },
]

/** The irreversible step behind another change, and directly after the phase before. */
const HASTY = [
  CAREFUL.replace(
    '      - name: complete\n',
    `${stepOf('open', 'Enable-EntraUser\n        params: {UserId: "{{Upn}}"}')}      - name: complete\n`,
  ).replace('Complete-MigrationUser', '«Complete-MigrationUser»'),
  CAREFUL.replace('offset: T-5d', 'offset: T-30m').replace(
    'Complete-MigrationUser',
    '«Complete-MigrationUser»',
  ),
]

const lint = (source: string) =>
  readRunbook(source, { catalogues: [M365_CATALOGUE], isLinted: true })

function assertFound(marked: string, { id, says }: Omit<Mistake, 'edit'>): void {
  const before = marked.slice(0, marked.indexOf('«')).split('\n')
  const { runbook, problems } = lint(marked.replace('«', '').replace('»', ''))
  assert.ok(runbook, 'a warning leaves the runbook valid')
  assert.deepEqual(
    problems.map(({ code, line, column }) => `${line}:${column} ${code}`),
    [`${before.length}:${before.at(-1)!.length + 1} ${id}`],
    'this mistake and no other',
  )
  const [found] = problems
  assert.match(found!.message, says)
  assert.equal(found!.severity, 'warning')
  assert.equal(found!.link, `docs/runbook.md#${id.toLowerCase()}`)
}

describe('migration rules', () => {
  it('are silent about a careful runbook, and unless asked', () => {
    assert.deepEqual(lint(CAREFUL).problems, [])
    const [{ edit }] = MISTAKES as [Mistake]
    const careless = CAREFUL.replace(edit[0], () => edit[1].replaceAll(/[«»]/g, ''))
    assert.deepEqual(readRunbook(careless, { catalogues: [M365_CATALOGUE] }).problems, [])
    // A rollback may name the object by data that the step does not have, and in other letters.
    const byData = CAREFUL.replace(
      'SkuId: ENTERPRISEPACK}\n        on_failure',
      'SkuId: enterprisepack}\n        on_failure',
    ).replace(
      'params: {UserId: "{{Id}}", SkuId: ENTERPRISEPACK}\n',
      'params: {UserId: "{{Upn}}", SkuId: ENTERPRISEPACK}\n',
    )
    assert.deepEqual(lint(byData).problems, [])
  })

  for (const [index, mistake] of MISTAKES.entries()) {
    it(`${mistake.id}, case ${index}`, () => {
      const [from, to] = mistake.edit
      assert.ok(CAREFUL.includes(from), `"${from}" is not in the careful runbook`)
      assertFound(
        CAREFUL.replace(from, () => to),
        mistake,
      )
    })
  }

  for (const [index, marked] of HASTY.entries()) {
    it(`IRREVERSIBLE_WITHOUT_HOLD, case ${index}`, () => {
      assertFound(marked, {
        id: 'IRREVERSIBLE_WITHOUT_HOLD',
        says: /cannot be undone.*give that phase a gate, .*at least 1h/,
      })
    })
  }

  it('are silent about windows that fit, and count a window over the end of the week as one', () => {
    const silent = [
      NIGHTS,
      'windows: {time_zone: UTC, freezes: [{from: 2026-12-19, to: 2027-01-06, reason: closing}]}\n',
      'windows: {time_zone: UTC, hours: [{from: "00:00", to: "00:00"}]}\n',
      // Together they last nine hours, longer than any job.
      'windows: {time_zone: UTC, hours: [{days: [sun, tue], from: "23:30", to: "00:00"}, {days: [mon, wed], from: "00:00", to: "08:30"}]}\n',
    ].map((windows) => CAREFUL.replace('phases:\n', `${windows}phases:\n`).replace('T-5d', 'T-7d'))
    assert.deepEqual(
      silent.map((source) => lint(source).problems),
      [[], [], [], []],
    )
    const ignored = silent[0]!
      .replace(
        'phases:\n',
        '# matoolkit-ignore STEP_PAST_WINDOW: it never needs as long\nphases:\n',
      )
      .replace('function: New-EntraUser\n', 'function: New-EntraUser\n        timeout: 9h\n')
    assert.deepEqual(lint(ignored).problems, [])
  })

  it('accept a gate with approvals before what cannot be undone, in its first change', () => {
    const gated = HASTY.map((marked) =>
      marked
        .replaceAll(/[«»]/g, '')
        .replace('offset: T-0', 'offset: T-0\n    gate: {approvals: 1}'),
    )
    assert.deepEqual(
      gated.map((source) => lint(source).problems.map(({ code }) => code)),
      [['IRREVERSIBLE_WITHOUT_HOLD'], []],
    )
  })

  it('each has a mistake here', () => {
    const shown = new Set<string>([
      'IRREVERSIBLE_WITHOUT_HOLD',
      'OWN_FUNCTION_RUNS',
      ...MISTAKES.map(({ id }) => id),
    ])
    assert.deepEqual(
      Object.keys(LINT_RULES).filter((id) => !shown.has(id)),
      [],
    )
  })

  it('tell where a worker runs a function of its own instead of the built-in one', () => {
    const facts = { effect: 'changes', isIdempotent: true, undoneBy: [], overrides: true } as const
    const name = 'Complete-MigrationUser'
    const functions = [
      ...M365_CATALOGUE.functions.filter((one) => one.name !== name),
      { name, parameters: {}, facts },
    ]
    const own = { workerId: 'target', functions }
    const { problems } = readRunbook(CAREFUL, {
      catalogues: [M365_CATALOGUE, own],
      isLinted: true,
    })
    assert.deepEqual(
      problems.map(({ code, severity, text }) => [code, severity, text]),
      [['OWN_FUNCTION_RUNS', 'warning', name]],
    )
    const elsewhere = [M365_CATALOGUE, { ...own, workerId: 'source' }]
    assert.deepEqual(readRunbook(CAREFUL, { catalogues: elsewhere, isLinted: true }).problems, [])
  })

  it('do not judge functions of the site and functions that data names', () => {
    for (const name of ['Do-Anything', '"{{Upn}}"']) {
      const own = CAREFUL.replace('function: Complete-MigrationUser', `function: ${name}`)
      const codes = lint(own).problems.map(({ code }) => code)
      assert.deepEqual(
        codes.filter((code) => code !== 'UNKNOWN_FUNCTION'),
        [],
      )
    }
  })
})

describe('matoolkit-ignore', () => {
  const REMOVAL = 'function: Disable-EntraUser\n    params: {UserId: "{{Id}}"}\nrollbacks'
  const deleting = CAREFUL.replace(REMOVAL, REMOVAL.replace('Disable', 'Remove'))
  const comment = '# matoolkit-ignore REMOVAL_DELETES: the pilot has no data'
  const PLACES: readonly [string, string][] = [
    ['above the step', deleting.replace('  - name: close', `  ${comment}\n  - name: close`)],
    [
      'above the step, with other comments and blank lines between',
      deleting.replace('  - name: close', `  ${comment}\n  # more\n\n  - name: close`),
    ],
    ['above the key', deleting.replace('on_member_removed:', `${comment}\non_member_removed:`)],
    [
      'at the end of the line',
      deleting.replace(REMOVAL.replace('Disable', 'Remove'), (text) =>
        text.replace('Remove-EntraUser', `Remove-EntraUser ${comment}`),
      ),
    ],
    ['above the first key, for all of the file', `# about\n${comment}\n${deleting}`],
  ]

  for (const [place, source] of PLACES) {
    it(`works ${place}, and the reason is kept`, () => {
      const { problems, ignored } = lint(source)
      assert.deepEqual(problems, [])
      assert.deepEqual(
        ignored.map(({ code, reason }) => [code, reason]),
        [['REMOVAL_DELETES', 'the pilot has no data']],
      )
    })
  }

  it('concerns the step below it and not the one after', () => {
    const source = deleting.replace(
      'on_member_removed:\n',
      `on_member_removed:\n  ${comment}\n  - {name: first, worker_id: target, when: [{variable: Id, present: true}], function: Remove-EntraUser, params: {UserId: "{{Id}}"}}\n`,
    )
    const { problems, ignored } = lint(source)
    assert.deepEqual([problems.length, ignored.length], [1, 1])
    assert.ok(problems[0]!.line > ignored[0]!.line)
  })

  it('about a function of the site is not unused where an API knows it', () => {
    const own = CAREFUL.replace(
      '      - name: wait\n',
      '      # matoolkit-ignore UNKNOWN_FUNCTION: our own worker has it\n      - name: wait\n',
    ).replace('Test-MigrationUser', 'Test-Ours')
    const alone = lint(own)
    assert.deepEqual([alone.problems, alone.ignored.length], [[], 1])
    const functions = [{ name: 'Test-Ours', parameters: {} }, ...M365_CATALOGUE.functions]
    const catalogues = [M365_CATALOGUE, { workerId: 'target', functions }]
    const withApi = readRunbook(own, { catalogues, isLinted: true })
    assert.deepEqual([withApi.problems, withApi.ignored], [[], []])
  })

  it('by the hundred makes an error, and then there is no runbook', () => {
    const many = `${'# matoolkit-ignore CHANGE_WITHOUT_CHECK: x\n'.repeat(600)}${CAREFUL}`
    const { runbook, problems } = lint(many)
    assert.deepEqual(
      [runbook, problems.filter(({ severity }) => severity === 'error').length],
      [null, 1],
    )
  })

  it('is text inside a text', () => {
    const inText = CAREFUL.replace('name: wave', `name: wave\ndescription: |\n  a\n  ${comment}`)
    assert.deepEqual(lint(inText).problems, [])
  })
})

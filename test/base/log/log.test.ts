import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MatoolkitError } from '../../../src/base/errors/errors.ts'
import { maskSecrets, redact, redactText, safeReasonOf } from '../../../src/base/log/redact.ts'
import type { Json } from '../../../src/base/text/json.ts'
import { collectLog } from '../../kit/log-lines.ts'

/** Planted wherever personal data or secrets may appear; no line may contain it. */
const CANARY = 'c4n4ry'
const PERSON = `${CANARY}.anna@contoso.example`
const JWT = `eyJhbGciOiJSUzI1NiJ9${CANARY}.eyJzdWIiOiJhIn0${CANARY}.sig-${CANARY}`

const withFields = (error: Error, fields: object): Error => Object.assign(error, fields)
const cyclic: Record<string, unknown> = { params: CANARY }
cyclic.self = cyclic

const PLANTED: Record<string, unknown> = {
  'step params': { params: { user: CANARY } },
  'job parameters': { job: { parameters: [CANARY, { deep: CANARY }] } },
  'a result': { result: CANARY },
  'a result that is a number': { result: { Result: 1 }, data: 4711, note: `${PERSON}` },
  'member data': { member: { data_json: { Name: CANARY } }, worker_data_json: CANARY },
  'a member key in any spelling': { memberKey: CANARY, member_key: CANARY, 'Member-Key': CANARY },
  names: { displayName: CANARY, GivenName: CANARY, surname: CANARY, userPrincipalName: CANARY },
  mail: { mail: CANARY, email: CANARY, proxyAddresses: [`SMTP:${CANARY}`] },
  secrets: { password: CANARY, clientSecret: CANARY, refresh_token: CANARY, apiKey: CANARY },
  headers: { headers: { Authorization: `Bearer ${CANARY}`, cookie: CANARY } },
  'a connection string': { connectionString: CANARY, databaseUrl: CANARY },
  'lists in lists': { items: [[[{ password: CANARY }]], [`to ${PERSON}`]] },
  'a Map': {
    found: new Map<unknown, unknown>([
      ['upn', CANARY],
      [PERSON, new Map([['pwd', CANARY]])],
    ]),
  },
  'a Set': { found: new Set([PERSON, { secret: CANARY }]) },
  bytes: { certificate: Buffer.from(CANARY), raw: Buffer.from(CANARY) },
  'a key that is an address': { counts: { [PERSON]: 3 } },
  'an address in a URL': {
    url: new URL(`https://graph.example/users/${CANARY}.a%40contoso.example/x`),
  },
  'a guest': { note: `${CANARY}_contoso.com#EXT#@fabrikam.onmicrosoft.example` },
  'letters beyond ASCII': { note: `${CANARY}.jürgen.müller@münchen.example` },
  'a URL with a password': { url: new URL(`https://user:${CANARY}@host.example/path`) },
  'a database address': { note: `cannot reach postgres://app:p/${CANARY}@w@db.example:5432/m?x=1` },
  'a Service Bus string': {
    note: `Endpoint=sb://x/;SharedAccessKeyName=a;SharedAccessKey=${CANARY}=;`,
  },
  'a SQL Server string': { note: `Server=x;User Id=sa;Password=${CANARY};Encrypt=true` },
  'a signed link': { note: `https://blob.example/c?sv=1&sig=${CANARY}%3D&se=2` },
  'a token': { note: `got ${JWT} from the cache` },
  'a bearer in a text': { note: `sent Authorization: Bearer ${CANARY}${CANARY}` },
  'JSON inside a text': {
    note: `body was {"access_token": "${CANARY}", "client_secret":"${CANARY}"}`,
  },
  'JSON inside JSON': { note: JSON.stringify({ body: JSON.stringify({ password: CANARY }) }) },
  'a private key': {
    note: `-----BEGIN PRIVATE KEY-----\n${CANARY}\n${CANARY}\n-----END PRIVATE KEY-----`,
  },
  'half a private key': { note: `-----BEGIN RSA PRIVATE KEY-----\n${CANARY}` },
  'a PFX': { note: `pfx ${CANARY.repeat(60)}==` },
  'an error': new Error(`no mailbox for ${PERSON}`),
  'an error as a field': { err: new Error(`password=${CANARY}`) },
  'a chain of causes': new Error('outer', {
    cause: new Error(`middle ${PERSON}`, {
      cause: withFields(new Error('inner'), { token: CANARY }),
    }),
  }),
  'a cause that is no error': new Error('outer', { cause: { params: CANARY, text: PERSON } }),
  'an aggregate': new AggregateError([new Error(PERSON), { secret: CANARY }], 'several'),
  'an error of PostgreSQL': withFields(new Error('duplicate key value violates "members_key"'), {
    code: '23505',
    detail: `Key (member_key)=(${CANARY}) already exists.`,
    where: `COPY members, line 1: "${CANARY}"`,
  }),
  'an error of PostgreSQL that quotes a value': withFields(
    new Error(`invalid input syntax for type integer: "${CANARY} "x" ${CANARY}"`),
    { code: '22P02' },
  ),
  'an error of PostgreSQL in another language': withFields(
    new Error(`ungültige Eingabesyntax für Typ integer: »${CANARY}«`),
    { code: '22P02' },
  ),
  'a value that PostgreSQL refused, as text': {
    note: `it failed: invalid input value for enum "batch_status": "${CANARY}" "${CANARY}`,
    more: `value "${CANARY}" is out of range for type integer`,
  },
  'a value that SQL Server refused': {
    note: `Conversion failed when converting the nvarchar value '${CANARY} O'${CANARY}' to data type int.`,
    more: `Cannot insert duplicate key. The duplicate key value is (${CANARY}, 1).`,
    last: `String or binary data would be truncated in table 'a'. Truncated value: '${CANARY}'.`,
  },
  'a value that Databricks refused': {
    note: `[CAST_INVALID_INPUT] The value '${CANARY}' of the type "STRING" cannot be cast to "INT"`,
  },
  'an error of our own': new MatoolkitError('DATABASE_UNREACHABLE', { reason: `pwd=${CANARY}` }),
  'a cycle': cyclic,
  'too deep': { a: { b: { c: { d: { e: { f: { g: { h: { i: CANARY } } } } } } } } },
}

describe('no log line contains a canary', () => {
  for (const format of ['json', 'pretty'] as const) {
    for (const [place, planted] of Object.entries(PLANTED)) {
      it(`${place} (${format})`, () => {
        const { log, text } = collectLog({ format })
        log.error(planted as object, 'something failed')
        log.error(planted as object)
        log.child(planted as object).info('a child said so')
        log
          .child({ about: planted })
          .child({ also: planted })
          .info(planted as object)
        log.info('a text with %s and %o', PERSON, planted as object)
        assert.doesNotMatch(text(), new RegExp(CANARY, 'i'))
      })
    }
  }

  it('in the message itself', () => {
    const { log, text } = collectLog()
    log.info(`moved ${PERSON}`)
    log.info('moved %s with %j', PERSON, { password: CANARY })
    assert.doesNotMatch(text(), new RegExp(CANARY))
    assert.match(text(), /moved \[address\]/)
  })

  it('when a long text is cut inside an address or a secret', () => {
    const secrets = [
      ` ${PERSON} `,
      `,${PERSON},`,
      `{"password": "${CANARY} ${CANARY}"}`,
      ` ${JWT} `,
    ]
    for (const secret of secrets) {
      for (let shift = 0; shift < 120; shift++) {
        const long = `${'word,'.repeat(1_582)}${'x'.repeat(shift)}${secret}${'and so on '.repeat(200)}`
        assert.doesNotMatch(redactText(long), new RegExp(CANARY))
      }
    }
  })
})

describe('the reason of an error for ticks, events and dead letters', () => {
  it('is our own sentence as it is, and any other without addresses and quoted data', () => {
    const own = new MatoolkitError('RUNBOOK_NOT_FOUND', { name: PERSON })
    assert.equal(safeReasonOf(own), own.message)
    const refused = new Error(`value "${CANARY}" is out of range for type integer`)
    const reason = 'value [redacted] is out of range for type integer'
    assert.equal(safeReasonOf(withFields(refused, { code: '22003' })), reason)
    assert.equal(safeReasonOf(refused.message), reason)
    assert.equal(safeReasonOf(new Error(`no mailbox for ${PERSON}`)), 'no mailbox for [address]')
    const missing = 'relation "batches" does not exist'
    assert.equal(safeReasonOf(withFields(new Error(missing), { code: '42P01' })), missing)
  })
})

describe('a log on a terminal', () => {
  for (const format of ['json', 'pretty'] as const) {
    it(`shows escape sequences and marks of direction instead of obeying them (${format})`, () => {
      const bad = 'red \u001b[31m \u009b2J \u202e \u200f \u061c \u2066 \r over'
      const { log, text } = collectLog({ format })
      log.error({ err: new Error(bad), note: bad, [bad]: 1 }, bad)
      log.child({ bad }).info('child %s', bad)
      assert.doesNotMatch(text(), /(?!\n)\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u)
      assert.match(text(), /red \\u001b\[31m \\u009b2J \\u202e/)
    })
  }
})

describe('what people may take away has no secrets', () => {
  const SECRETS = [
    'a URL with a password',
    'a database address',
    'a Service Bus string',
    'a private key',
    'a SQL Server string',
    'a signed link',
    'a token',
    'a bearer in a text',
    'a PFX',
    'JSON inside a text',
    'JSON inside JSON',
    'half a private key',
    'secrets',
  ]
  for (const place of SECRETS)
    it(place, () => {
      const planted = JSON.parse(JSON.stringify(PLANTED[place])) as Json
      assert.doesNotMatch(JSON.stringify(maskSecrets(planted)), new RegExp(CANARY, 'i'))
      assert.deepEqual(maskSecrets(maskSecrets(planted)), maskSecrets(planted))
    })

  it('a text that is nothing but a token, whatever its length', () => {
    for (const secret of ['eyJh.eyJi', `pwd=${CANARY}`, 'x'.repeat(200), `Basic\t${CANARY}99`])
      assert.match(String(maskSecrets(secret)), /\[redacted\]/)
  })

  it('but people, ids and times as they are', () => {
    const row = { key: PERSON, at: '2030-03-01T20:00:00.123+00:00', id: 'step-7-0', n: 7, no: null }
    assert.deepEqual(maskSecrets(row), row)
    const names = Array.from({ length: 1_500 }, (_, at) => [`Column${at}`, 'x'])
    const wide = Object.fromEntries([...names, ['apiKey', CANARY], ['ApiKey', CANARY]])
    for (let time = 0; time < 2; time++)
      assert.doesNotMatch(JSON.stringify(maskSecrets(wide)), new RegExp(CANARY))
  })
})

describe('redaction keeps', () => {
  it('ids, counts, statuses, codes, times and plain sentences', () => {
    const { log, lines } = collectLog()
    const fields = {
      batchId: 7,
      memberId: 12,
      jobId: 'step-7-retry-2-poll-3',
      status: 'succeeded',
      attempt: 2,
      count: 1_500,
      code: 'SCHEMA_NEWER',
      topic: 'worker-jobs',
      workerId: 'cloud-worker-01',
      runbook: 'user-migration',
      phase: 'cutover',
      held: false,
      reason: null,
      ratio: 0.25,
      at: new Date('2026-03-01T10:00:00Z'),
      url: 'https://graph.example/v1.0/users',
      big: 5n,
      version: 'pglite@0.5.16',
    }
    log.info(fields, 'Batch 7 is due: 1,500 of 1,500 members are ready.')
    assert.deepEqual(lines(), [
      {
        level: 'info',
        time: '2026-03-01T10:00:00.000Z',
        ...fields,
        at: '2026-03-01T10:00:00.000Z',
        big: '5',
        msg: 'Batch 7 is due: 1,500 of 1,500 members are ready.',
      },
    ])
  })

  it('an error with its code, its stack and its causes', () => {
    const { log, lines } = collectLog()
    const cause = withFields(new Error('connect ECONNREFUSED'), {
      code: 'ECONNREFUSED',
      port: 5432,
    })
    log.error(new MatoolkitError('DATABASE_UNREACHABLE', { reason: 'refused' }, { cause }))
    const [line] = lines()
    const err = line!.err as Record<string, unknown>
    assert.equal(err.code, 'DATABASE_UNREACHABLE')
    assert.match(String(err.stack), /log\.test\.ts/)
    assert.match(String(line!.msg), /does not answer: refused/)
    const { name, message, code, port } = err.cause as Record<string, unknown>
    assert.deepEqual(
      [name, message, code, port],
      ['Error', 'connect ECONNREFUSED', 'ECONNREFUSED', 5432],
    )
  })

  it('a pretty line for people', () => {
    const { log, text } = collectLog({ format: 'pretty' })
    log.child({ role: 'scheduler' }).warn({ batchId: 7 }, 'The tick was late.')
    assert.equal(text(), '10:00:00.000 WARN  The tick was late. role="scheduler" batchId=7\n')
  })

  it('the format that suits the destination by default', () => {
    for (const [format, isTTY, expected] of [
      ['auto', true, /^10:00/],
      ['auto', false, /^\{"level"/],
      ['json', true, /^\{"level"/],
      ['pretty', false, /^10:00/],
    ] as const) {
      const { log, text } = collectLog({ format, isTTY })
      log.info('hello')
      assert.match(text(), expected)
    }
  })

  it('a redacted line unchanged', () => {
    for (const planted of [...Object.values(PLANTED), 'a long text '.repeat(1_000)]) {
      const once = redact(planted)
      assert.deepEqual(redact(once), once)
    }
  })
})

describe('limits', () => {
  it('cuts long texts, lists and graphs visibly', () => {
    assert.match(redactText('word '.repeat(4_000)), /word … \(20000 characters in all\)$/)
    const list = redact(Array.from({ length: 250 }, (_, index) => index)) as unknown[]
    assert.equal(list.at(-1), '… (150 more)')
    const graph: unknown[] = []
    for (let index = 0; index < 50; index++) graph.push(graph)
    const { log, text } = collectLog()
    log.info({ graph }, 'a graph')
    assert.ok(text().length < 100_000)
  })

  it('logs fields that cannot be copied instead of throwing', () => {
    const { log, lines } = collectLog()
    log.info(
      { time: 5, level: 7, call: () => 1, tag: Symbol('x'), never: new Date(Number.NaN) },
      'odd',
    )
    log.info({ nothing: undefined, msg: 'mine' })
    assert.equal(lines().length, 2)
    const pretty = collectLog({ format: 'pretty' })
    pretty.log.info({ time: 5, level: 7 }, 'odd')
    assert.match(pretty.text(), /odd/)
  })

  it('does no work for a line below the level', () => {
    const { log, text } = collectLog({ level: 'info' })
    const fields = {
      get params(): never {
        throw new Error('was read')
      },
    }
    log.debug(fields, 'not for now')
    assert.equal(text(), '')
    assert.equal(log.isLevelEnabled('debug'), false)
  })
})

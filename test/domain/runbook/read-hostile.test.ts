// Hostile and broken input: always a problem, never an exception, never slow. Time is compared with an ordinary runbook of the
// same size in the same run.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import fc from 'fast-check'
import { readRunbook } from '../../../src/domain/runbook/read.ts'

const SIZE = 1_048_000
const fill = (piece: string, size = SIZE) => piece.repeat(Math.floor(size / piece.length))
const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => line(index)).join('\n')

const head = `name: wave
data_source: {type: csv, path: a.csv, primary_key: Id, batch_time: immediate, columns: [Id]}
`
const phaseOf = (steps: string) =>
  `${head}phases:\n  - name: p\n    offset: T-0\n    steps:\n${steps}`
const oneStep = (index: number, more: string) =>
  `      - {name: s${index}, worker_id: w, function: F, ${more}}`

const ordinary = phaseOf(
  lines(1_400, (index) => oneStep(index, `params: {A: "${'x '.repeat(330)}"}`)),
)

/** The expected code; other problems may follow. */
const HOSTILE: [title: string, code: string, source: () => string][] = [
  ['open brackets', 'TOO_DEEP', () => fill('[')],
  ['open braces', 'TOO_DEEP', () => fill('{')],
  ['nested lists on one line', 'TOO_DEEP', () => fill('- ')],
  ['nested keys on one line', 'TOO_DEEP', () => fill('? ')],
  ['nested maps by indentation', 'TOO_DEEP', () => lines(1_400, (i) => `${' '.repeat(i)}a:`)],
  ['40,000 keys in one map', 'TOO_MANY_NODES', () => lines(40_000, (i) => `k${i}: 1`)],
  ['40,000 equal keys', 'TOO_MANY_NODES', () => lines(40_000, () => 'k: 1')],
  ['9,000 equal keys', 'TOO_MANY_PROBLEMS', () => lines(9_000, () => 'k: 1')],
  ['line feeds', 'TOO_MANY_NODES', () => fill('\n')],
  ['comments', 'TOO_MANY_NODES', () => fill('#\n')],
  ['commas', 'TOO_MANY_NODES', () => `[${fill(',')}`],
  ['tags', 'TOO_MANY_NODES', () => fill('!a ')],
  ['anchors', 'TOO_MANY_NODES', () => fill('&a\n')],
  ['aliases', 'TOO_MANY_NODES', () => `- &a x\n${fill('- *a\n')}`],
  ['documents', 'SEVERAL_DOCUMENTS', () => fill('---\n')],
  ['directives', 'YAML_DIRECTIVE', () => fill('%\n')],
  ['quotes', 'TOO_MANY_NODES', () => fill('"')],
  ['closing braces', 'TOO_MANY_PROBLEMS', () => fill('}')],
  ['closing brackets', 'TOO_MANY_PROBLEMS', () => fill(']')],
  ['an open quote', 'YAML_SYNTAX', () => `a: "${fill('x\n ')}`],
  ['escapes', 'YAML_SYNTAX', () => `a: "${fill('\\\n')}`],
  ['a long key', 'YAML_SYNTAX', () => `"${fill('x')}": 1`],
  ['a long tag', 'YAML_TAG', () => `!${fill('a')} x`],
  ['bare templates', 'TOO_MANY_NODES', () => fill('a: {{b}}\n')],
  ['an alias bomb', 'YAML_ALIAS', () => bomb()],
  ['an escape beyond Unicode', 'YAML_SYNTAX', () => 'a: "\\U99999999"'],
  [
    'a text of templates',
    'TOO_MANY_VARIABLES',
    () => phaseOf(oneStep(1, `params: {A: "${fill('{{Id}}', 900_000)}"}`)),
  ],
  [
    'a text of open templates',
    'TOO_MANY_PROBLEMS',
    () => phaseOf(oneStep(1, `params: {A: "${fill('{{', 900_000)}"}`)),
  ],
  ['thousands of unknown variables', 'TOO_MANY_PROBLEMS', () => unknownVariables()],
  [
    'thousands of unknown rollbacks',
    'TOO_MANY_PROBLEMS',
    () => phaseOf(lines(1_900, (i) => oneStep(i, `on_failure: ${'abcdefgh'.repeat(6)}${i}`))),
  ],
]

function bomb(): string {
  const levels = Array.from(
    { length: 9 },
    (_, i) => `l${i + 1}: &l${i + 1} [${fill(`*l${i},`, 40)}]`,
  )
  return `l0: &l0 [x, x, x]\n${levels.join('\n')}\n`
}

/** Long, nearly equal names are the worst case for suggestions. */
function unknownVariables(): string {
  const long = 'abcdefgh'.repeat(6)
  const columns = lines(2_000, (i) => `    - ${long}${i}`).trimStart()
  return phaseOf(lines(1_500, (i) => oneStep(i, `params: {A: "{{${long}x${i}y}}"}`))).replace(
    'columns: [Id]}',
    `columns: [Id, ${columns.replaceAll('- ', '').replaceAll('\n', ', ')}]}`,
  )
}

function timeOf(work: () => void): number {
  const start = process.hrtime.bigint()
  work()
  return Number(process.hrtime.bigint() - start)
}

describe('hostile runbooks', () => {
  let ordinaryTime = 0
  before(() => {
    assert.deepEqual(readRunbook(ordinary).problems, [])
    assert.ok(ordinary.length > 900_000 && ordinary.length < SIZE)
    ordinaryTime = timeOf(() => readRunbook(ordinary))
  })

  for (const [title, code, source] of HOSTILE) {
    it(`${title}: ${code}, in reasonable time`, () => {
      const text = source()
      let problems: ReturnType<typeof readRunbook>['problems'] = []
      const ratio =
        timeOf(() => {
          problems = readRunbook(text).problems
        }) / ordinaryTime
      assert.ok(
        problems.some((problem) => problem.code === code),
        problems[0]?.code,
      )
      assert.ok(problems.length <= 501)
      assert.ok(ratio < 30, `took ${ratio.toFixed(1)} times as long as an ordinary runbook`)
    })
  }
})

describe('odd encodings', () => {
  const utf16 = (text: string, mark: number[]) =>
    new Uint8Array([...mark, ...Buffer.from(text, 'utf16le')])
  const CASES: [title: string, bytes: Uint8Array, found: string][] = [
    ['UTF-16 with its mark', utf16('name: a', [0xff, 0xfe]), '1:1 NOT_UTF8'],
    ['UTF-16, other order', new Uint8Array([0xfe, 0xff, 0, 0x61]), '1:1 NOT_UTF8'],
    ['UTF-16 without mark', utf16('name: a', []), '1:2 CONTROL_CHARACTER'],
    ['Latin 1', Buffer.from('a: 1\nname: M\xfcller\n', 'latin1'), '2:8 NOT_UTF8'],
    ['a cut character', new Uint8Array([0x61, 0x0a, 0xe2, 0x82]), '2:1 NOT_UTF8'],
    ['an overlong character', new Uint8Array([0xc0, 0x80]), '1:1 NOT_UTF8'],
    ['only a byte order mark', new Uint8Array([0xef, 0xbb, 0xbf]), '1:1 EMPTY_DOCUMENT'],
    ['nothing', new Uint8Array(), '1:1 EMPTY_DOCUMENT'],
    ['one byte too many', new Uint8Array(1_048_577).fill(0x23), '1:1 TOO_LARGE'],
  ]
  for (const [title, bytes, found] of CASES) {
    it(`${title}: ${found}`, () => {
      const { problems } = readRunbook(bytes)
      assert.deepEqual(
        problems.map(({ line, column, code }) => `${line}:${column} ${code}`),
        [found],
      )
    })
  }
})

describe('random changes to a good runbook', () => {
  const example = readFileSync(
    join(import.meta.dirname, '../../fixtures/sample-migration.yaml'),
    'utf8',
  )
  const SNIPPETS = [
    '{{',
    '}}',
    '"',
    "'",
    ': ',
    '- ',
    '\n',
    '\n  ',
    '&a ',
    '*a',
    '!x ',
    '|\n',
    '[',
    ']',
    '{',
    '}',
    '\t',
    '#',
    '?',
    '~',
    '\0',
    '😀',
    '\ud800',
    '__proto__: 1\n',
    '<<: ',
    '0x',
    '.nan',
    '%YAML\n',
    '---\n',
    'null',
    '""',
  ]

  it('never throw, and every problem points into the file', () => {
    const edit = fc.record({
      at: fc.nat(example.length),
      cut: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.nat(40)),
      snippet: fc.constantFrom(...SNIPPETS),
    })
    const pointsIntoFile = fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
      const text = edits.reduce(
        (before, { at, cut, snippet }) => before.slice(0, at) + snippet + before.slice(at + cut),
        example,
      )
      const { runbook, problems } = readRunbook(text)
      assert.equal(
        runbook === null,
        problems.some(({ severity }) => severity === 'error'),
      )
      const fileLines = text.split('\n')
      for (const { line, column, message } of problems) {
        const width = fileLines[line - 1]?.length ?? -1
        assert.ok(column >= 1 && column <= width + 1, `${line}:${column} ${message}`)
      }
    })
    fc.assert(pointsIntoFile, { numRuns: 1_500, seed: 30 })
  })

  it('never throw as bytes either', () => {
    const bytes = Buffer.from(example)
    const edit = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255))
    const isJudged = fc.property(fc.array(edit, { minLength: 1, maxLength: 3 }), (edits) => {
      const changed = Uint8Array.from(bytes)
      for (const [at, byte] of edits) changed[at] = byte
      const { runbook, problems } = readRunbook(changed)
      assert.equal(
        runbook === null,
        problems.some(({ severity }) => severity === 'error'),
      )
    })
    fc.assert(isJudged, { numRuns: 500, seed: 31 })
  })
})

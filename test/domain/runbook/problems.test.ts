// Every problem is found at its place, with its message.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isLintRule } from '../../../src/domain/runbook/lint/lint-rules.ts'
import { PROBLEMS } from '../../../src/domain/runbook/problems.ts'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { CASES, type Case } from './cases.ts'
import { VALID } from './valid-runbook.ts'

const ADVICE =
  /\b(Add|Choose|Correct|Flatten|Keep|Move|Name|Put|Quote|Increase|Remove|Rename|Save|Set|Split|Start|Use|Write|use)\b|\{hint\}/

/** The file of a case and the position of its marker. */
function sourceOf({ edit, code }: Case): { source: string; place: string; text: string } {
  const [from, to] = typeof edit === 'string' ? ['', ''] : edit
  if (typeof edit !== 'string')
    assert.ok(VALID.includes(from), `${code}: "${from}" is not in VALID`)
  let marked = typeof edit === 'string' ? edit : VALID.replace(from, () => to)
  if (code === 'TOO_MANY_VARIABLES') marked = marked.replace('{{Upn}}', '{{Upn}}'.repeat(1_001))
  const start = marked.indexOf('«')
  const end = marked.indexOf('»')
  const before = marked.slice(0, start).split('\n')
  const text = marked.slice(start + 1, end < 0 ? marked.indexOf('\n', start) : end)
  const place = `${before.length}:${before.at(-1)!.length + 1}`
  return { source: marked.replace('«', '').replace('»', ''), place, text }
}

describe('problems of a runbook', () => {
  it('the base runbook of the cases is valid', () => {
    assert.deepEqual(readRunbook(VALID).problems, [])
  })

  for (const [index, one] of CASES.entries()) {
    it(`${one.code}, case ${index}`, () => {
      const { source, place, text } = sourceOf(one)
      const { runbook, problems } = readRunbook(source, {
        ...(one.columns ? { columns: one.columns } : {}),
        ...(one.catalogues ? { catalogues: one.catalogues } : {}),
        allowMissingParameters: one.allowMissingParameters ?? false,
      })
      const found = problems.find((problem) => problem.code === one.code)
      assert.ok(
        found,
        `only found: ${problems.map(({ code, message }) => `${code} ${message}`).join('; ')}`,
      )
      assert.equal(`${found.line}:${found.column}`, place)
      assert.equal(found.text, text.split('\n')[0]!.slice(0, 80))
      assert.match(found.message, one.says)
      assert.doesNotMatch(found.message, /\{[a-z]+\}(?!\})/, 'a placeholder was left')
      assert.equal(found.severity, isLintRule(one.code) ? 'warning' : PROBLEMS[one.code].severity)
      assert.equal(
        runbook === null,
        problems.some(({ severity }) => severity === 'error'),
      )
    })
  }

  it('every code has a case', () => {
    const shown = new Set<string>(CASES.map(({ code }) => code))
    assert.deepEqual(
      Object.keys(PROBLEMS).filter((code) => !shown.has(code)),
      [],
    )
  })

  it('every message says what to do', () => {
    for (const [code, { sentence }] of Object.entries(PROBLEMS)) {
      assert.match(sentence, /^[A-Z"{]/, code)
      assert.match(sentence, /[.}]$/, code)
      assert.match(sentence, ADVICE, code)
    }
  })

  it('reports everything at once, in file order', () => {
    const { problems } = readRunbook('name: a b\nretry: {}\nphases:\n  - {name: x, offset: no}\n')
    assert.deepEqual(
      problems.map(({ code, line, column }) => `${line}:${column} ${code}`),
      [
        '1:1 MISSING_KEY',
        '1:7 BAD_NAME',
        '2:8 MISSING_KEY',
        '2:8 MISSING_KEY',
        '4:5 MISSING_KEY',
        '4:23 BAD_OFFSET',
      ],
    )
  })

  it('reports each problem once', () => {
    const params = (value: string) => VALID.replace('"{{Upn}}"', value)
    const ONCE: [source: string, code: string][] = [
      [params('{{Upn}} and {{Name}}'), 'TEMPLATE_NOT_QUOTED'],
      [params('"{{Upn} }}"'), 'TEMPLATE_SYNTAX'],
      [VALID.replace('T-0', '&o T-0').replace('Do-It', '*o'), 'YAML_ALIAS'],
    ]
    for (const [source, code] of ONCE) {
      const { problems } = readRunbook(source)
      assert.deepEqual(
        problems.map((problem) => problem.code),
        [code],
      )
    }
  })

  it('gives the path of each problem', () => {
    const { problems } = readRunbook(
      VALID.replace('"{{Upn}}"', '[1, {x: "{{nope}}"}]').replace('T-0', 'never'),
    )
    assert.deepEqual(
      problems.map(({ path }) => path),
      ['phases[0].offset', 'phases[0].steps[0].params.A[1].x'],
    )
  })
})

const WAVE = {
  name: 'wave',
  data_source: { type: 'csv', path: 'a/b.csv', primary_key: 'Id', batch_time: 'immediate' },
  phases: [
    { name: 'p', offset: 'T+1d', steps: [{ name: 's', worker_id: 'w', function: '{{F}}' }] },
  ],
}

describe('valid runbooks', () => {
  const fine: [title: string, source: string][] = [
    ['keys that start with x-', VALID.replace('phases:', 'x-owner: {any: [thing]}\nphases:')],
    ['an empty optional list', VALID.replace('phases:', 'init: []\nrollbacks: {}\nphases:')],
    ['a byte order mark', `\uFEFF${VALID}`],
    ['Windows line ends', VALID.replaceAll('\n', '\r\n')],
    ['a document mark before and after', `---\n${VALID}...\n`],
    ['JSON', JSON.stringify(WAVE)],
    ['quoted words and zeros', VALID.replace('"{{Upn}}"', '["yes", \'007\', 0, 0.5, 0x10]')],
    ['texts that look like YAML markers', VALID.replace('"{{Upn}}"', '[---, ---, ...]')],
    ['a poll that runs once', `${VALID}        poll: {interval: 1h, timeout: 1h}\n`],
    ['JSON in a text', VALID.replace('"{{Upn}}"', `'{"a":{"b":"{{Upn}}"}}'`)],
    ['escaped braces', VALID.replace('"{{Upn}}"', "'\\{{Nobody}}'")],
    [
      'any variable, when the columns are unknown',
      VALID.replace('  columns: [Upn, Name]\n', '').replace('{{Upn}}', '{{Anything}}'),
    ],
  ]
  for (const [title, source] of fine) {
    it(title, () => {
      const { runbook, problems } = readRunbook(source)
      assert.deepEqual(problems, [])
      assert.equal(runbook?.name, 'wave')
    })
  }
})

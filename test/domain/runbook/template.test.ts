import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../../../src/base/text/json.ts'
import {
  resolveTemplates,
  scanTemplate,
  scopeOf,
  variablesOf,
} from '../../../src/domain/runbook/template.ts'

const SCOPE = scopeOf([
  { _batch_id: 7 },
  { Out: 'output', Both: 'first' },
  { Both: 'second' },
  {
    Upn: 'ada@contoso.example',
    'Display Name': 'Ada Berg',
    Größe: 'XL',
    N: 3,
    Yes: true,
    Null: null,
    List: ['a', 1],
    Map: { k: null },
    Tricky: '{{Upn}}',
    ' Padded ': 'found',
    Twice: 1,
    twice: 2,
  },
])

const RESOLVED: [value: Json, result: Json][] = [
  ['plain', 'plain'],
  ['', ''],
  ['{{Upn}}', 'ada@contoso.example'],
  ['{{ Upn }}', 'ada@contoso.example'],
  ['{{\tUpn\n}}', 'ada@contoso.example'],
  ['{{Display Name}}!', 'Ada Berg!'],
  ['{{Größe}}', 'XL'],
  ['{{Upn}}/{{N}}', 'ada@contoso.example/3'],
  ['{{N}}', 3],
  ['{{Yes}}', true],
  ['{{Null}}', null],
  ['{{List}}', ['a', 1]],
  ['{{Map}}', { k: null }],
  [' {{N}}', ' 3'],
  ['[{{Null}}]', '[]'],
  ['is {{Yes}}', 'is true'],
  ['list {{List}}', 'list ["a",1]'],
  ['map {{Map}}', 'map {"k":null}'],
  ['{{Both}}', 'first'],
  ['{{ upn }}', 'ada@contoso.example'],
  ['{{display name}}', 'Ada Berg'],
  ['{{BOTH}}', 'first'],
  ['{{padded}}', 'found'],
  ['{{twice}}', 2],
  ['{{_BATCH_ID}}', 7],
  ['{{_batch_id}}', 7],
  ['{{Tricky}}', '{{Upn}}'],
  ['x {{Tricky}}', 'x {{Upn}}'],
  ['\\{{Upn}}', '{{Upn}}'],
  ['C:\\\\{{Out}}', 'C:\\output'],
  ['\\\\\\{{Out}}', '\\{{Out}}'],
  ['a\\b', 'a\\b'],
  ['{Upn} }} {', '{Upn} }} {'],
  ['{"a":{"b":"{{Out}}"}}', '{"a":{"b":"output"}}'],
  [
    { a: ['{{N}}', { '{{N}}': '{{Out}}' }], b: false },
    { a: [3, { '{{N}}': 'output' }], b: false },
  ],
  [null, null],
  [12, 12],
]

const MISSING: [value: Json, names: string[], nearest: (string | null)[]][] = [
  ['{{upm}}', ['upm'], ['Upn']],
  ['{{TWICE}}', ['TWICE'], ['Twice']],
  ['{{Disply Name}} {{Upn}}', ['Disply Name'], ['Display Name']],
  ['{{constructor}}', ['constructor'], [null]],
  ['{{__proto__}}', ['__proto__'], [null]],
  ['{{toString}} {{hasOwnProperty}}', ['toString', 'hasOwnProperty'], [null, null]],
  ['{{Map.k}}', ['Map.k'], ['Map']],
  [
    ['{{x1}}', { k: '{{x2}} {{x1}}' }],
    ['x1', 'x2'],
    [null, null],
  ],
  ['{{Upn', ['{{Upn'], ['Upn']],
  ['{{}}', ['{{}}'], [null]],
  ['{{{Upn}}}', ['{{{U'], [null]],
]

describe('templates', () => {
  for (const [value, result] of RESOLVED) {
    it(`${JSON.stringify(value)} becomes ${JSON.stringify(result)}`, () => {
      assert.deepEqual(resolveTemplates(value, SCOPE), { ok: true, value: result })
    })
  }

  for (const [value, names, near] of MISSING) {
    it(`${JSON.stringify(value)} is unresolved`, () => {
      const missing = names.map((name, index) => ({ name, nearest: near[index] }))
      assert.deepEqual(resolveTemplates(value, SCOPE), { ok: false, missing })
    })
  }

  it('a key "__proto__" in a value stays a key', () => {
    const value = JSON.parse('{"__proto__": "{{N}}"}')
    const resolved = resolveTemplates(value, SCOPE)
    assert.ok(resolved.ok)
    assert.equal(JSON.stringify(resolved.value), '{"__proto__":3}')
    assert.equal(Object.getPrototypeOf(resolved.value), Object.prototype)
  })

  it('lists the variables of a value once, in order', () => {
    const value = { a: '{{B}} {{ A }}', b: ['{{A}}', '\\{{C}}', 1, null], '{{D}}': '{{E}}' }
    assert.deepEqual(variablesOf(value), ['B', 'A', 'E'])
  })

  it('bounds its cache', () => {
    for (let i = 0; i < 12_000; i++) {
      assert.deepEqual(resolveTemplates(`${i} {{N}}`, SCOPE), { ok: true, value: `${i} 3` })
    }
  })
})

describe('faults of templates', () => {
  const FAULTS: [text: string, faults: string[]][] = [
    ['{{a}}', []],
    ['{{a', ['unclosed']],
    ['{{', ['unclosed']],
    ['{{ }}', ['empty']],
    ['{{a}b}}', ['brace-in-name']],
    ['{{a {{b}}', ['brace-in-name']],
    ['{{{a}}}', ['brace-in-name']],
    ['{{}}{{', ['empty', 'unclosed']],
    ['\\{{', []],
  ]
  for (const [text, faults] of FAULTS) {
    it(`${text} has ${faults.length === 0 ? 'none' : faults.join(', ')}`, () => {
      assert.deepEqual(
        scanTemplate(text).faults.map(({ fault }) => fault),
        faults,
      )
    })
  }
})

describe('the scanner of templates, on random texts', () => {
  const PIECES = ['{{', '}}', '{', '}', '\\', 'a', ' ', 'Upn', '{{Upn}}', '\\{{', '\n', 'ß', '😀']

  /** The rules again, slowly: one character at a time. */
  function expected(text: string): string {
    let out = ''
    for (let at = 0; at < text.length; ) {
      const [whole = '', slashes = '', name] =
        /^(\\*)\{\{(?:([^{}]*)\}\})?/.exec(text.slice(at)) ?? []
      if (whole === '') out += text[at++]
      else if (slashes.length % 2 === 1) {
        out += `${'\\'.repeat((slashes.length - 1) / 2)}{{`
        at += slashes.length + 2
      } else {
        out += `${'\\'.repeat(slashes.length / 2)}<${name?.trim()}>`
        at += whole.length
      }
    }
    return out
  }

  it('follows the rules and never loses a character', () => {
    const texts = fc.array(fc.constantFrom(...PIECES), { maxLength: 12 })
    const follows = fc.property(texts, (pieces) => {
      const text = pieces.join('')
      const { parts, faults } = scanTemplate(text)
      if (faults.length > 0) return
      const read = parts.map((part) => (typeof part === 'string' ? part : `<${part.name}>`))
      assert.equal(read.join(''), expected(text))
    })
    fc.assert(follows, { numRuns: 20_000, seed: 28 })
  })

  it('takes linear time', () => {
    const textOf = (size: number) =>
      ['{{', '\\', '{{a', '{{}', '{ {'].map((piece) => piece.repeat(size / piece.length))
    const time = (size: number) => {
      const texts = textOf(size)
      const start = process.hrtime.bigint()
      for (const text of texts) scanTemplate(text)
      return Number(process.hrtime.bigint() - start)
    }
    time(100_000)
    const ratio = time(1_600_000) / Math.max(1, time(100_000))
    assert.ok(ratio < 16 * 8, `16 times the text took ${ratio.toFixed(0)} times as long`)
  })
})

describe('secrets in templates', () => {
  const resolved = (value: Json, data: Record<string, Json> = {}) =>
    resolveTemplates(value, scopeOf([data]))

  it('become markers with the surrounding text', () => {
    const value = ['{{secret:matoolkit-hook}}', 'Bearer {{ secret: matoolkit-hook }} for {{Upn}}']
    assert.deepEqual(resolved(value, { Upn: 'ada' }), {
      ok: true,
      value: [
        { $secret: [{ ref: 'matoolkit-hook' }] },
        { $secret: ['Bearer ', { ref: 'matoolkit-hook' }, ' for ', 'ada'] },
      ],
    })
    assert.deepEqual(variablesOf(value), ['Upn'])
  })

  it('never come from data: not as text, not combined, not as a marker', () => {
    const text = { Evil: '{{secret:matoolkit-hook}}', Half: '{secret:matoolkit-hook}}' }
    assert.deepEqual(resolved(['{{Evil}}', 'a {{Evil}}', 'a{ {{Half}}'], text), {
      ok: true,
      value: [text.Evil, `a ${text.Evil}`, `a{ ${text.Half}`],
    })
    const mark = { $secret: [{ ref: 'matoolkit-hook' }] }
    for (const forged of [mark, [mark], { deep: { deeper: [mark] } }, { ...mark, more: 1 }]) {
      const { ok } = resolved('{{Evil}}', { Evil: forged })
      assert.equal(ok, false, JSON.stringify(forged))
    }
  })
})

// Every regular expression of the program and of the dashboard meets texts that are made for it: what it matches, once and again, and then
// something else. One whose time grows faster than the text is found, unless it sees no text of others.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { projectFiles, scan } from '../../house/tidy/source.ts'

/** Expressions that grow with the square of the text, and why no text of others comes to them. */
const OUR_TEXTS: Readonly<Record<string, string>> = {
  '/^-- upgrade: *(.*?) *$/gm': 'our own files',
  '/\\/+$/': 'addresses of the settings',
}

const ATOM_OF: Readonly<Record<string, string>> = {
  s: ' ',
  d: '1',
  w: 'a',
  S: 'x',
  D: 'x',
  W: '-',
  n: '\n',
  r: '\r',
  t: '\t',
  b: '',
  B: '',
  p: 'é',
  P: '-',
}

/** A character for each thing that the expression looks for, in their order; of a class that excludes, one that it does not. */
function atomsOf(source: string): string[] {
  const tokens = source.matchAll(
    /\\(?:u\{?([\da-f]{4,6})\}?|x([\da-f]{2})|[pP]\{[^}]*\}|(.))|\(\?(?:<\w+>|<?[=!]|:)|\[(\^?)((?:[^\]\\]|\\.)*)\]|\{\d+(?:,\d*)?\}|([^()|?*+^$])/gi,
  )
  return [...tokens]
    .flatMap(([token, wide, narrow, escaped, isNot, inside, plain]) => {
      const code = wide ?? narrow
      if (code !== undefined) return [String.fromCodePoint(Number.parseInt(code, 16))]
      if (escaped !== undefined) return [ATOM_OF[escaped] ?? escaped]
      if (inside !== undefined) {
        const listed = inside.replaceAll(/\\(.)/g, (_, of: string) => ATOM_OF[of] ?? of)
        return isNot
          ? [[...'ax 1<'].find((one) => !listed.includes(one)) ?? '~']
          : [...listed].slice(0, 4)
      }
      return plain === undefined
        ? token.startsWith('\\')
          ? ['é']
          : []
        : [plain === '.' ? 'a' : plain]
    })
    .filter((atom) => atom !== '')
}

interface Attack {
  readonly before: string
  readonly again: string
  readonly after: string
}

function attacksOn(source: string): Attack[] {
  const atoms = atomsOf(source)
  const repeated = new Set([...atoms.slice(0, 16), ' ', 'a'])
  for (let count = 2; count <= 3; count += 1)
    for (let at = 0; at + count <= Math.min(atoms.length, 16); at += 1)
      repeated.add(atoms.slice(at, at + count).join(''))
  const begins = new Set(['', atoms[0] ?? '', atoms.slice(0, 12).join('')])
  return [...begins].flatMap((before) =>
    [...repeated].map((again) => ({ before, again, after: '\u0001' })),
  )
}

const textOf = ({ before, again, after }: Attack, chars: number): string =>
  before + again.repeat(Math.ceil(chars / again.length)) + after

/** Processor time of this thread, whatever else the machine does. */
function msOf(expression: RegExp, text: string): number {
  const { user, system } = process.threadCpuUsage()
  expression.lastIndex = 0
  if (expression.global) text.replaceAll(expression, '')
  else expression.test(text)
  const since = process.threadCpuUsage({ user, system })
  return (since.user + since.system) / 1_000
}

const CHARS = 2_000
const TIMES = 8
/** Of eight times the text: linear is eight times the time, the square 64. */
const GROWTH_MAX = 24
const NOTICED_MS = 4
const SHORT_MS = 20

/** Short texts first: what grows with the power of the text would never end on a longer one. */
function growsTooFast(expression: RegExp, attack: Attack): boolean {
  for (const chars of [20, 200]) if (msOf(expression, textOf(attack, chars)) > SHORT_MS) return true
  const first = Math.max(msOf(expression, textOf(attack, CHARS)), 0.05)
  if (first > SHORT_MS) return true
  const large = textOf(attack, CHARS * TIMES)
  const grew = () => msOf(expression, large) > Math.max(NOTICED_MS, first * GROWTH_MAX)
  // A compiler at work or a collection of garbage does not come three times.
  return grew() && grew() && grew()
}

const parse = (literal: string): RegExp => {
  const end = literal.lastIndexOf('/')
  return new RegExp(literal.slice(1, end), literal.slice(end + 1))
}

const attackOn = (literal: string): Attack | undefined => {
  const expression = parse(literal)
  return attacksOn(expression.source).find((attack) => growsTooFast(expression, attack))
}

describe('a regular expression', () => {
  const root = join(import.meta.dirname, '../../..')
  const files = projectFiles(root).filter(({ path }) =>
    /^(?:src|dashboard\/src)\/.*\.tsx?$/.test(path),
  )
  const found = new Map(
    files.flatMap((file) =>
      scan(file)
        .expressions.filter((one) => /[*+]|\{\d+,/.test(one))
        .map((one) => [`${file.path} ${one}`, one] as const),
    ),
  )

  it('takes time that grows with the text, not with its square', () => {
    assert.ok(found.size > 150, `${found.size} expressions`)
    const slow = [...found].flatMap(([place, literal]) => {
      const attack = attackOn(literal)
      return attack && !(literal in OUR_TEXTS) ? [`${place}: ${JSON.stringify(attack)}`] : []
    })
    assert.deepEqual(slow, [])
  })

  it('is found when it does not', () => {
    for (const literal of ['/^(a+)+$/', '/<\\w[^>]*(?:\\s[^>]*)*>/', '/\\s+$/', '/x*y/'])
      assert.ok(attackOn(literal), literal)
    for (const literal of ['/^a+$/', '/[<>]/g', '/a{1,9}b/'])
      assert.equal(attackOn(literal), undefined, literal)
  })
})

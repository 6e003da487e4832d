// Mutations that keep some structure: lines, tokens and values of a good example are moved, repeated, dropped, mixed with those of
// another example or replaced by hostile ones. Random bytes alone get no further than the first error.
import { oneOf, type Random } from './target.ts'

/** Texts that broke somebody's parser once. */
export const HOSTILE_TEXTS: readonly string[] = [
  '',
  ' ',
  '\0',
  '\ud800',
  '\u2028',
  '\ufeff',
  '\u202e',
  '\u001b[2J',
  '\t',
  '\r',
  '\r\n',
  '\n\n',
  '"',
  "'",
  '`',
  '\\',
  '""',
  '{{',
  '}}',
  '{{}}',
  '{{ a }}',
  '\\{{',
  '{{secret:x}}',
  '{{__proto__}}',
  'null',
  '~',
  'true',
  'no',
  '0',
  '-0',
  '-1',
  '1.5',
  '1e309',
  '0x10',
  '0o7',
  '.nan',
  '.inf',
  '1_000',
  '9007199254740993',
  '99999999999999999999',
  '2026-02-30',
  '2026-03-29T02:30:00',
  'T-0',
  'T+99999d',
  'T-1',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '../../etc/passwd',
  'C:\\nul',
  '%00',
  '%s%n',
  "'; drop table batches; --",
  '=1+1',
  '@SUM(A1)',
  '<script>',
  '$(id)',
  'ﬀ𝒳',
  'İ',
  'ß',
  'é',
]

const repeated = (random: Random, text: string): string => text.repeat(1 + random(2 ** random(12)))

/** A place for a cut; any place is as good as another. */
const cut = (random: Random, text: string): number => random(text.length + 1)

type Mutation = (random: Random, text: string, other: string) => string

const onLines =
  (change: (random: Random, lines: string[]) => void): Mutation =>
  (random, text) => {
    const lines = text.split('\n')
    change(random, lines)
    return lines.join('\n')
  }

const MUTATIONS: readonly Mutation[] = [
  onLines((random, lines) => lines.splice(random(lines.length), 1 + random(3))),
  onLines((random, lines) => {
    const at = random(lines.length)
    lines.splice(random(lines.length), 0, ...lines.slice(at, at + 1 + random(8)))
  }),
  onLines((random, lines) => {
    const [a, b] = [random(lines.length), random(lines.length)]
    const kept = lines[a]!
    lines[a] = lines[b]!
    lines[b] = kept
  }),
  onLines((random, lines) => {
    const at = random(lines.length)
    const line = lines[at]!
    lines[at] = random(2) === 0 ? line.replace(/^ {1,2}/, '') : `${' '.repeat(random(5))}${line}`
  }),
  // A token, by another of the same text or by a hostile one.
  (random, text, other) => {
    const tokens = text.split(/([\s:,[\]{}"'|&*!#-]+)/)
    const from = random(2) === 0 ? HOSTILE_TEXTS : other.split(/[\s:,[\]{}"']+/)
    tokens[random(tokens.length)] = oneOf(random, from)
    return tokens.join('')
  },
  (random, text) => {
    const at = cut(random, text)
    return text.slice(0, at) + repeated(random, oneOf(random, HOSTILE_TEXTS)) + text.slice(at)
  },
  (random, text) => {
    const at = cut(random, text)
    return text.slice(0, at) + text.slice(at + 1 + random(20))
  },
  (random, text) => {
    const [at, length] = [cut(random, text), 1 + random(60)]
    return text.slice(0, at) + repeated(random, text.slice(at, at + length)) + text.slice(at)
  },
  (random, text, other) => text.slice(0, cut(random, text)) + other.slice(cut(random, other)),
  (random, text) => text.slice(0, cut(random, text)),
  (random, text) => {
    const at = cut(random, text)
    return text.slice(0, at) + String.fromCharCode(random(0x1_0000)) + text.slice(at + 1)
  },
]

/** An example with one to eight mutations, and parts of another. */
export function mutatedText(
  random: Random,
  examples: readonly string[],
  extra: readonly Mutation[] = [],
): string {
  let text = oneOf(random, examples)
  const mutations = [...MUTATIONS, ...extra]
  for (let left = 1 + random(8); left > 0; left--)
    text = oneOf(random, mutations)(random, text, oneOf(random, examples))
  return text
}

const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  [],
  {},
  [[[[]]]],
  { toString: 1 },
  { length: -1 },
  [null],
  { constructor: { prototype: null } },
]

/** Changes one to three places of a JSON value: drops, repeats, renames, swaps and replaces. */
export function mutatedValue(random: Random, value: unknown): unknown {
  const copy = structuredClone(value)
  const root = { root: copy }
  for (let left = 1 + random(3); left > 0; left--) mutateInside(random, root, 'root')
  return root.root
}

function mutateInside(random: Random, holder: Record<string, unknown>, key: string): void {
  const value = holder[key]
  const isTree = typeof value === 'object' && value !== null
  const keys = isTree ? Object.keys(value) : []
  if (keys.length > 0 && random(4) > 0) {
    const inner = oneOf(random, keys)
    const tree = value as Record<string, unknown>
    if (random(5) > 0) return mutateInside(random, tree, inner)
    if (random(2) === 0) delete tree[inner]
    else if (!Array.isArray(value)) tree[otherCase(random, inner)] = tree[inner]
    return
  }
  holder[key] = replacement(random, value)
}

const otherCase = (random: Random, key: string): string =>
  oneOf(random, [key.toUpperCase(), key.toLowerCase(), `${key} `, ...HOSTILE_TEXTS.slice(0, 4)])

function replacement(random: Random, value: unknown): unknown {
  switch (random(5)) {
    case 0:
      // A copy: the next mutation may change it.
      return structuredClone(oneOf(random, ODD_VALUES))
    case 1:
      return repeated(random, oneOf(random, HOSTILE_TEXTS))
    case 2:
      return typeof value === 'number'
        ? value + oneOf(random, [-1, 1, 0.5, 2 ** 31])
        : JSON.stringify(value)
    case 3:
      return Array.from({ length: random(6) }, () => value)
    default:
      return nested(value, random(160))
  }
}

function nested(value: unknown, depth: number): unknown {
  let made = value
  for (let left = depth; left > 0; left--) made = left % 2 ? [made] : { a: made }
  return made
}

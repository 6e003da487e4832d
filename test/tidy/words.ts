// Private words that a stranger must guess. Each has a ceiling in words.json, the number of places left; it only goes down.
// `npm run docs` lowers the ceilings to the places that are left.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isCode, lineOf, type SourceFile } from './source.ts'
import type { Rule } from './walls.ts'

/** By the word under which the ceiling is kept. */
export const PRIVATE_WORDS: Readonly<Record<string, RegExp>> = {
  door: /\bdoors?\b/gi,
  visit: /\bvisit(?:s|ed|ing)?\b/gi,
  parcel: /\bparcels?\b/gi,
  // A help desk is the field’s word.
  desk: /(?<!help[ -])\bdesks?\b/gi,
  whoever: /\bwho(?:so)?ever\b/gi,
  whom: /\bwhom\b/gi,
  'for ever': /\bfor ever\b|\bwithout end\b/gi,
  'brought up': /\bbrought up\b/gi,
  'looked after': /\blook(?:s|ed|ing)? after\b/gi,
  'told in order': /\btold[- ]in[- ]order\b|\bToldInOrder\b/gi,
  'is told that': /\b(?:is|are) told (?:that|of)\b/gi,
  'of those who': /\bof those (?:who|whose)\b/gi,
  'goes on': /\b(?:goes|go|went|gone) on\b/gi,
  'puts aside': /\b(?:put|puts|putting) aside\b/gi,
  'takes up': /\b(?:take|takes|taken|taking|took) up\b(?! to\b)/gi,
  anew: /\banew\b/gi,
  "one's own": /\bone's own\b/gi,
  beside: /\bbeside\b/gi,
  stray: /\bstray(?:s|ed)?\b/gi,
  'look notes': /\blook[- ]notes?\b|\bLookNotes\b/gi,
  comers: /\bcomers\b/gi,
}

export const CEILINGS_FILE = join(import.meta.dirname, 'words.json')
export type Ceilings = Readonly<Record<string, number>>

export const readCeilings = (): Ceilings =>
  JSON.parse(readFileSync(CEILINGS_FILE, 'utf8')) as Ceilings

const TITLE =
  /\b(?:it|describe|suite|test)\(\s*(?:'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`|"((?:[^"\\\n]|\\.)*)")/g

const COMMENT = /^\s*(?:\/\/|\/\*|\*\s).*$/gm

/** The text that people read: src, sql and documents in full, the titles and comments of tests and benchmarks. */
function readableText({ path, text }: SourceFile): string {
  if (path === 'CHANGELOG.md' || path.startsWith('examples/')) return ''
  if (/^(?:src|sql)\//.test(path) || path.endsWith('.md')) return text
  if (!/^(?:test|bench)\/(?!tidy)/.test(path) || !isCode(path)) return ''
  let readable = text.replaceAll(/[^\n]/g, ' ')
  for (const pattern of [TITLE, COMMENT]) {
    for (const { index, 0: found } of text.matchAll(pattern)) {
      readable = readable.slice(0, index) + found + readable.slice(index + found.length)
    }
  }
  return readable
}

/** Every place of every word, as file and line. */
export function placesOf(files: readonly SourceFile[]): Map<string, string[]> {
  const places = new Map<string, string[]>(Object.keys(PRIVATE_WORDS).map((word) => [word, []]))
  for (const file of files) {
    const text = readableText(file)
    if (text === '') continue
    for (const [word, pattern] of Object.entries(PRIVATE_WORDS)) {
      for (const { index } of text.matchAll(pattern)) {
        places.get(word)!.push(`${file.path}:${lineOf(text, index)}`)
      }
    }
  }
  return places
}

const SHOWN = 5

export function plainWords(ceilings: Ceilings): Rule {
  return {
    name: 'private words get fewer',
    check: (files) =>
      [...placesOf(files)]
        .filter(([word, places]) => places.length > (ceilings[word] ?? 0))
        .map(
          ([word, places]) =>
            `"${word}" stands in ${places.length} places, at most ${ceilings[word] ?? 0} are allowed (test/tidy/words.json). Say it in plain words: ${places.slice(0, SHOWN).join(', ')}`,
        ),
  }
}

/** The ceilings as they may be now: the places that are left, and never more than before. */
export function loweredCeilings(ceilings: Ceilings, files: readonly SourceFile[]): Ceilings {
  return Object.fromEntries(
    [...placesOf(files)].map(([word, places]) => [
      word,
      Math.min(ceilings[word] ?? places.length, places.length),
    ]),
  )
}

export const WORDS: readonly Rule[] = [plainWords(readCeilings())]

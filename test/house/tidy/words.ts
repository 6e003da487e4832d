// Words that a stranger would have to guess, each with the words to write instead. A word of the domain is never on this list:
// people of a tenant have managers, and a page may ask "whom".
import { isCode, lineOf, type SourceFile } from './source.ts'
import type { Rule } from './walls.ts'

interface RefusedWord {
  readonly pattern: RegExp
  /** Completes "write …". */
  readonly instead: string
}

const refused = (pattern: RegExp, instead: string): RefusedWord => ({ pattern, instead })

const REFUSED: readonly RefusedWord[] = [
  refused(/\bdoors?\b/i, 'what checks or admits: the engine, the API, the server'),
  refused(/\bvisit(?:s|ed|ing)?\b/i, 'transaction, request or call'),
  refused(/\bparcels?\b/i, 'bundle'),
  // A help desk is the field’s word, and has an address.
  refused(/(?<!help[ -])\bdesks?\b(?!@)/i, 'the thing itself, such as the context of the server'),
  refused(/\bwho(?:so)?ever\b/i, '"anyone who", or the role: operator, worker, caller'),
  refused(/\bfor ever\b/i, 'forever'),
  refused(/\bwithout end\b/i, 'without limit'),
  refused(/\bbrought up\b/i, 'started, migrated or upgraded'),
  refused(/\blook(?:s|ed|ing)? after\b/i, 'maintain, or the work itself: prune, seal, vacuum'),
  refused(/\btold[- ]in[- ]order\b|\bToldInOrder\b/i, 'gapless reader'),
  refused(/\b(?:is|are) told (?:that|of)\b/i, 'gets, reads or is notified'),
  refused(/\bof those (?:who|whose)\b/i, 'the noun: "members whose …"'),
  refused(/\b(?:goes|go|went|gone) on\b/i, 'continue'),
  refused(/\b(?:put|puts|putting) aside\b/i, 'keep for later, or skip'),
  refused(/\b(?:take|takes|taken|taking|took) up\b(?! to\b)/i, 'start, adopt or upgrade to'),
  refused(/\banew\b/i, 'again'),
  refused(/\bone's own\b/i, 'its own'),
  refused(/\bbeside\b/i, 'next to, or besides'),
  refused(/\bstray(?:s|ed)?\b/i, 'late, duplicate or foreign'),
  refused(/\blook[- ]notes?\b|\bLookNotes\b/i, 'audit of reads'),
  refused(/\bcomers\b/i, 'joiners or latecomers'),
]

const TITLE =
  /\b(?:it|describe|suite|test)\(\s*(?:'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`|"((?:[^"\\\n]|\\.)*)")/g

const COMMENT = /^\s*(?:\/\/|\/\*|\*\s).*$/gm

/** The text that people read: code, sql and documents in full, the titles and comments of tests and benchmarks. */
function readableText({ path, text }: SourceFile): string {
  if (path === 'CHANGELOG.md' || path.startsWith('examples/')) return ''
  if (/^(?:src|sandbox|sql|dashboard\/src)\//.test(path) || path.endsWith('.md')) return text
  if (!/^(?:test|bench)\/(?!tidy)/.test(path) || !isCode(path)) return ''
  let readable = text.replaceAll(/[^\n]/g, ' ')
  for (const pattern of [TITLE, COMMENT]) {
    for (const { index, 0: found } of text.matchAll(pattern)) {
      readable = readable.slice(0, index) + found + readable.slice(index + found.length)
    }
  }
  return readable
}

const plainWords: Rule = {
  name: 'plain words instead of private ones',
  check: (files) =>
    files.flatMap((file) => {
      const text = readableText(file)
      return REFUSED.flatMap(({ pattern, instead }) =>
        [...text.matchAll(new RegExp(pattern, 'gi'))].map(
          ({ 0: word, index }) =>
            `${file.path}:${lineOf(text, index)} says "${word}": write ${instead}`,
        ),
      )
    }),
}

export const WORDS: readonly Rule[] = [plainWords]

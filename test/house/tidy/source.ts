// Reads a source file just well enough for the house rules: which characters are code, which are comments, what the strings say
// and what is imported. TypeScript 7 has no stable API for this yet; a scanner of a page does, because the formatter has already
// made all code look alike. Blanked text keeps its length and its line ends, so positions stay true.
import { globSync, readFileSync } from 'node:fs'
import { join, posix, sep } from 'node:path'

export interface SourceFile {
  /** From the root of the project, with forward slashes. */
  readonly path: string
  readonly text: string
}

export interface Scanned {
  /** The text with comments and the insides of strings and regular expressions blanked. */
  readonly code: string
  /** The insides of strings; in a template each `${…}` stands as one blank. */
  readonly strings: readonly string[]
  /** As they stand there, with slashes and flags. */
  readonly expressions: readonly string[]
}

export interface Import {
  /** The path of a file of ours, or the name of a package. */
  readonly target: string
  readonly isOurs: boolean
  /** `import type`: gone when the program runs. */
  readonly isType: boolean
}

const scannedFiles = new WeakMap<SourceFile, Scanned>()

export function scan(file: SourceFile): Scanned {
  const known = scannedFiles.get(file)
  if (known) return known
  const scanned = scanText(file.text)
  scannedFiles.set(file, scanned)
  return scanned
}

/** A piece at the start of a text that is not code, and what is said inside it. */
const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//y
const STRING = /'((?:[^'\\\n]|\\[\s\S])*)'|"((?:[^"\\\n]|\\[\s\S])*)"/y
const REGEX = /\/(?![*/])(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y
const TEMPLATE_PART = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y
/** Before a regular expression stands an operator, an opening bracket or one of these words; before a division, a value. */
const BEFORE_REGEX = /(?:^|[=(,:;!&|?{}[+\-*%~^<>\n]|\b(?:return|typeof|case|of|in))\s*$/

function scanText(text: string): Scanned {
  const strings: string[] = []
  const expressions: string[] = []
  /** Open templates: what was said so far, and how deep in braces their `${` stands. */
  const templates: { said: string; depth: number }[] = []
  let code = ''
  let depth = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = code.length
    return pattern.exec(text)
  }
  const blank = (piece: string) => {
    code += piece.replaceAll(/[^\n]/g, ' ')
  }
  const readTemplatePart = () => {
    const [said] = take(TEMPLATE_PART)!
    templates.at(-1)!.said += said
    blank(said)
    const closes = text[code.length] === '`'
    if (closes) strings.push(templates.pop()!.said)
    code += closes ? '`' : text.slice(code.length, code.length + 2)
  }
  while (code.length < text.length) {
    const char = text[code.length]!
    const comment = char === '/' ? take(COMMENT) : null
    const string = char === "'" || char === '"' ? take(STRING) : null
    const regex =
      char === '/' && !comment && BEFORE_REGEX.test(code.slice(-40)) ? take(REGEX) : null
    if (string) strings.push(string[1] ?? string[2] ?? '')
    if (regex) expressions.push(regex[0])
    if (comment ?? string ?? regex) blank((comment ?? string ?? regex)![0])
    else {
      code += char
      if (char === '{') depth += 1
      if (char === '}') depth -= 1
      if (char === '`') templates.push({ said: '', depth })
      const inTemplate = templates.at(-1)
      const ends = char === '}' && inTemplate?.depth === depth
      if (ends) inTemplate.said += ' '
      if (char === '`' || ends) readTemplatePart()
      if (code.endsWith('${')) depth += 1
    }
  }
  return { code, strings, expressions }
}

const IMPORT =
  /^(?:import|export)\s+(type\s)?(?:[^'"]*?\sfrom\s+)?'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm

export function importsOf(file: SourceFile): Import[] {
  return [...file.text.matchAll(IMPORT)].map(([, isType, named, dynamic]) => {
    const name = (named ?? dynamic)!
    const isOurs = name.startsWith('.')
    const packageName = name.match(/^(?:@[^/]+\/)?[^/]+/)![0]
    return {
      target: isOurs ? posix.join(posix.dirname(file.path), name) : packageName,
      isOurs,
      isType: isType !== undefined,
    }
  })
}

export const isCode = (path: string): boolean => /\.(ts|tsx|mjs)$/.test(path)
export const lineOf = (text: string, index: number): number =>
  text.slice(0, index).split('\n').length

/** Everything that is ours and text, and pictures by name. */
export function projectFiles(root: string): SourceFile[] {
  const foreign = new Set(['node_modules', '.git', '.matoolkit', 'dist', 'coverage'])
  const found = globSync('{**/*,.*}', {
    cwd: root,
    withFileTypes: true,
    exclude: (entry) => foreign.has(entry.name),
  })
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) =>
      /\.(ts|tsx|mjs|md|sql|json|ya?ml|csv|sh|svg|png|ps1|psm1|psd1)$|(^|\/)(\.env\.example|LICENSE|matoolkit)$/.test(
        path,
      ),
    )
    .map((path) => ({
      path: path
        .slice(root.length + 1)
        .split(sep)
        .join('/'),
      // Documents link to pictures; there is nothing to read in them.
      text: path.endsWith('.png') ? '' : readFileSync(path, 'utf8'),
    }))
}

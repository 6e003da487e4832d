// Finds a place in the program by its function and a pattern, token by token, and edits it. Line breaks, indentation, comments,
// quotes, trailing commas and the file that holds the function do not matter.
//
// In a pattern `$name` stands for any one name and `$$name` for the shortest code with balanced brackets. The replacement may use
// both. Strings are compared word by word, so a pattern may be a piece of SQL.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Edit {
  readonly find: string
  readonly replace: string
}

export const replace = (find: string, by: string): Edit => ({ find, replace: by })
export const remove = (find: string): Edit => ({ find, replace: '' })

export interface Place {
  /** A function, class or constant at the top level of a file. */
  readonly in: string
  /** The folder or file under src that declares it; needed where several files declare the name. */
  readonly under?: string
  readonly edits: readonly Edit[]
}

interface Token {
  readonly text: string
  readonly start: number
  readonly end: number
  /** Inside a string or a template. */
  readonly isText: boolean
}

const BLANK_OR_COMMENT = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/y
const REGEX = /\/(?![*/])(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y
const CODE = /[\p{L}\p{N}_$]+|./suy
const TEXT = /\\.|\$\{|(?:[\p{L}\p{N}_]|\$(?!\{))+|./suy
const OPENING = /^[([{]$/
const CLOSING = /^[)\]}]$/
/** A slash after one of these divides; after anything else it opens a regular expression. */
const VALUE = /^[\p{L}\p{N}_$)\]}'`]/u
const WORD_BEFORE_REGEX = /^(?:return|typeof|case|of|in)$/

export function tokensOf(source: string): Token[] {
  const tokens: Token[] = []
  /** Open quotes and the brackets inside templates, innermost last. */
  const open: string[] = []
  let at = 0
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    return pattern.exec(source)?.[0]
  }
  const isRegexNext = (): boolean => {
    const before = tokens.at(-1)?.text
    return before === undefined || !VALUE.test(before) || WORD_BEFORE_REGEX.test(before)
  }
  const push = (raw: string, text: string, isText: boolean) => {
    if (!isText && CLOSING.test(text) && tokens.at(-1)?.text === ',') tokens.pop()
    tokens.push({ text, start: at, end: at + raw.length, isText })
    at += raw.length
  }
  while (at < source.length) {
    const inside = open.at(-1)
    if (inside === "'" || inside === '"' || inside === '`') {
      const blank = /\s+/y
      at += take(blank)?.length ?? 0
      const raw = take(TEXT)
      if (raw === undefined) break
      if (raw === inside) open.pop()
      if (raw === '${' && inside === '`') open.push('{')
      push(raw, raw === inside ? QUOTE : raw, true)
      continue
    }
    at += take(BLANK_OR_COMMENT)?.length ?? 0
    if (at >= source.length) break
    const raw = (source[at] === '/' && isRegexNext() ? take(REGEX) : undefined) ?? take(CODE)!
    const isQuote = raw === "'" || raw === '"' || raw === '`'
    if (isQuote || raw === '{') open.push(raw)
    if (raw === '}') open.pop()
    push(raw, isQuote ? QUOTE : raw, isQuote)
  }
  return tokens
}

const QUOTE = "'"

/** Brackets inside a string do not count, but `${` leads back into code. */
const opens = ({ text, isText }: Pick<Token, 'text' | 'isText'>): boolean =>
  isText ? text === '${' : OPENING.test(text)
const closes = ({ text, isText }: Pick<Token, 'text' | 'isText'>): boolean =>
  !isText && CLOSING.test(text)

/** First and last token of each top-level declaration, by name. */
function declarationsOf(tokens: readonly Token[]): { name: string; from: number; to: number }[] {
  const found: { name: string; from: number; to: number }[] = []
  let depth = 0
  tokens.forEach((token, index) => {
    const { text, isText } = token
    if (opens(token)) depth += 1
    if (closes(token)) depth -= 1
    if (isText || depth > 0 || !/^(?:function|const|let|class|export)$/.test(text)) return
    const last = found.at(-1)
    if (last) last.to = Math.min(last.to, index)
    if (text === 'export') return
    const name = tokens[index + 1]?.text === '*' ? tokens[index + 2] : tokens[index + 1]
    if (name) found.push({ name: name.text, from: index, to: tokens.length })
  })
  return found
}

type Captures = ReadonlyMap<string, readonly Token[]>

/** The end of the match that starts at `from`; null if there is none. */
function matchAt(
  pattern: readonly Token[],
  tokens: readonly Token[],
  from: number,
  to: number,
  captures: Captures = new Map(),
): { end: number; captures: Captures } | null {
  const [first, ...rest] = pattern
  if (!first) return { end: from, captures }
  const goOn = (end: number): ReturnType<typeof matchAt> => {
    const taken = tokens.slice(from, end)
    const known = captures.get(first.text)
    if (known && wordsOf(known) !== wordsOf(taken)) return null
    return matchAt(rest, tokens, end, to, new Map([...captures, [first.text, known ?? taken]]))
  }
  const next = tokens[from]
  if (/^\$\$[a-z]/i.test(first.text)) {
    let depth = 0
    for (let end = from; end <= to; end++) {
      const matched = depth === 0 ? goOn(end) : null
      if (matched) return matched
      const { text, isText } = tokens[end] ?? { text: '', isText: false }
      if (opens({ text, isText })) depth += 1
      if (closes({ text, isText })) depth -= 1
      if (depth < 0) return null
    }
    return null
  }
  if (!next || from >= to) return null
  if (/^\$[a-z]/i.test(first.text)) return /^[\p{L}_$]/u.test(next.text) ? goOn(from + 1) : null
  return next.text === first.text ? matchAt(rest, tokens, from + 1, to, captures) : null
}

const wordsOf = (tokens: readonly Token[]): string => tokens.map(({ text }) => text).join(' ')

/** The edited text; throws a sentence that says what to do if the place is not found exactly once. */
export function editSource(
  source: string,
  where: { in: string; file: string },
  edit: Edit,
): string {
  const tokens = tokensOf(source)
  const pattern = tokensOf(edit.find)
  const found = declarationsOf(tokens)
    .filter(({ name }) => name === where.in)
    .flatMap(({ from, to }) => {
      const starts = Array.from({ length: to - from }, (_, index) => from + index)
      return starts.flatMap((start) => {
        const match = matchAt(pattern, tokens, start, to)
        return match ? [{ ...match, start }] : []
      })
    })
  const [place] = found
  if (!place || found.length > 1) {
    throw new Error(
      `"${edit.find}" matches ${found.length} places in ${where.in} (${where.file}), not one. ` +
        'Make the pattern fit the code as it is now ($name: any name, $$name: any code), with the same mistake',
    )
  }
  const text = edit.replace.replaceAll(/\$\$?[a-z]\w*/gi, (name) => {
    const taken = place.captures.get(name)
    if (!taken) return name
    return taken.length === 0 ? '' : source.slice(taken[0]!.start, taken.at(-1)!.end)
  })
  const { start } = tokens[place.start]!
  let end = tokens[place.end - 1]?.end ?? start
  if (edit.replace === '') {
    // The comma of a list item goes with it.
    const comma = /\s*,/y
    comma.lastIndex = end
    end += comma.exec(source)?.[0].length ?? 0
  }
  return source.slice(0, start) + text + source.slice(end)
}

const root = join(import.meta.dirname, '../../..')
let filesByName: Map<string, string[]> | undefined

/** The files of src that declare a name at their top level. */
function filesDeclaring(name: string): readonly string[] {
  if (!filesByName) {
    filesByName = new Map()
    const declaration = /^(?:export )?(?:async )?(?:function\*?|const|let|class) ([\w$]+)/gm
    for (const path of globSync('src/**/*.ts', { cwd: root }).sort()) {
      const file = path.replaceAll('\\', '/')
      for (const [, found] of readFileSync(join(root, file), 'utf8').matchAll(declaration)) {
        filesByName.set(found!, [...(filesByName.get(found!) ?? []), file])
      }
    }
  }
  return filesByName.get(name) ?? []
}

/** The file that contains the place, from the project's root. */
export function fileOf(
  { in: name, under = 'src' }: Omit<Place, 'edits'>,
  declaring = filesDeclaring(name),
): string {
  const files = declaring.filter((file) => file.startsWith(under))
  if (files.length === 1) return files[0]!
  throw new Error(
    files.length === 0
      ? `nothing under ${under} declares ${name}. If it has another name or folder now, say so in "in" and "under"`
      : `${files.join(' and ')} declare ${name}. Say in "under" which of them is meant`,
  )
}

/** The file's text with all edits of the place made. */
export function editPlace(source: string, place: Place): string {
  const where = { in: place.in, file: fileOf(place) }
  return place.edits.reduce((text, edit) => editSource(text, where, edit), source)
}

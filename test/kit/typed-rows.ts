// Every statement that a test runs is compared with the type its caller gives to the rows: `query<Row>` is a promise that no compiler
// checks. Types that only the compiler can resolve are left out.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'
import type { Db, Queryable } from '../../src/db/connection/db.ts'

/** Property names, and which of them a row may lack. */
export interface RowShape {
  readonly required: ReadonlySet<string>
  readonly optional: ReadonlySet<string>
}

// A node of the syntax tree. Its form depends on `type`; what is not there reads as undefined.
// biome-ignore lint/suspicious/noExplicitAny: the parser's own types name each of 200 kinds, and this file looks at twelve
type Node = any

interface Source {
  readonly path: string
  readonly types: ReadonlyMap<string, Node>
  readonly imports: ReadonlyMap<string, { readonly from: string; readonly name: string }>
  /** The type argument of each `.query<…>(`, by the line and column of `query`. */
  readonly calls: ReadonlyMap<string, Node>
}

const sources = new Map<string, Source>()

export function readSource(path: string, text = readFileSync(path, 'utf8')): Source {
  const known = sources.get(path)
  if (known) return known
  const types = new Map<string, Node>()
  const imports = new Map<string, { from: string; name: string }>()
  const calls = new Map<string, Node>()
  const program: Node = parseAst(text, { lang: 'ts' }, path)
  for (const statement of program.body) {
    const declared = statement.declaration ?? statement
    if (/^TS(Interface|TypeAlias)Declaration$/.test(declared.type))
      types.set(declared.id.name, declared)
    if (statement.type !== 'ImportDeclaration' || !statement.source.value.startsWith('.')) continue
    const from = join(dirname(path), statement.source.value)
    for (const { local, imported } of statement.specifiers)
      if (imported) imports.set(local.name, { from, name: imported.name })
  }
  const starts = lineStarts(text)
  walk(program, (node) => {
    const { callee } = node
    if (node.type !== 'CallExpression' || callee.property?.name !== 'query') return
    const type = node.typeArguments?.params[0]
    if (type) calls.set(placeOf(callee.property.start, starts), type)
  })
  const source = { path, types, imports, calls }
  sources.set(path, source)
  return source
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

function placeOf(offset: number, starts: readonly number[]): string {
  const line = starts.findLastIndex((start) => start <= offset)
  return `${line + 1}:${offset - starts[line]! + 1}`
}

function walk(node: Node, visit: (node: Node) => void): void {
  if (Array.isArray(node)) {
    for (const one of node) walk(one, visit)
    return
  }
  if (node === null || typeof node !== 'object') return
  if (typeof node.type === 'string') visit(node)
  for (const value of Object.values(node)) walk(value, visit)
}

/** The properties of a type, or null if only the compiler knows them. */
export function shapeOf(type: Node, source: Source): RowShape | null {
  if (type.type === 'TSTypeLiteral') return shapeOfMembers(type.members)
  if (type.type === 'TSIntersectionType') return together(type.types, source)
  if (type.type !== 'TSTypeReference') return null
  const name = type.typeName.name
  const args: readonly Node[] = type.typeArguments?.params ?? []
  if (name === 'Readonly') return shapeOf(args[0], source)
  if (name === 'Partial') {
    const whole = shapeOf(args[0], source)
    return (
      whole && { required: new Set(), optional: new Set([...whole.required, ...whole.optional]) }
    )
  }
  if (name === 'Pick' || name === 'Omit') return chosen(name, args, source)
  const imported = source.imports.get(name)
  if (imported) return shapeOfName(imported.name, readSource(imported.from))
  return args.length > 0 ? null : shapeOfName(name, source)
}

function shapeOfName(name: string, source: Source): RowShape | null {
  const declared = source.types.get(name)
  if (declared === undefined || declared.typeParameters) return null
  if (declared.type === 'TSTypeAliasDeclaration') return shapeOf(declared.typeAnnotation, source)
  const own = shapeOfMembers(declared.body.body)
  const parents = (declared.extends ?? []).map((parent: Node) => ({
    type: 'TSTypeReference',
    typeName: parent.expression,
    typeArguments: parent.typeArguments,
  }))
  const inherited = together(parents, source)
  return own && inherited && union(own, inherited)
}

function shapeOfMembers(members: readonly Node[]): RowShape | null {
  const named = members.every(({ type, computed }) => type === 'TSPropertySignature' && !computed)
  if (!named) return null
  const names = (isOptional: boolean) =>
    new Set<string>(
      members
        .filter(({ optional }) => (optional ?? false) === isOptional)
        .map(({ key }) => key.name ?? key.value),
    )
  return { required: names(false), optional: names(true) }
}

const union = (a: RowShape, b: RowShape): RowShape => ({
  required: new Set([...a.required, ...b.required]),
  optional: new Set([...a.optional, ...b.optional]),
})

function together(types: readonly Node[], source: Source): RowShape | null {
  const shapes = types.map((type) => shapeOf(type, source))
  if (shapes.some((shape) => shape === null)) return null
  return (shapes as RowShape[]).reduce(union, { required: new Set(), optional: new Set() })
}

function chosen(
  verb: 'Pick' | 'Omit',
  [of, keys]: readonly Node[],
  source: Source,
): RowShape | null {
  const whole = shapeOf(of, source)
  const parts: readonly Node[] = keys.type === 'TSUnionType' ? keys.types : [keys]
  if (whole === null || parts.some(({ type }) => type !== 'TSLiteralType')) return null
  const names = new Set<string>(parts.map(({ literal }) => literal.value))
  const kept = (all: ReadonlySet<string>) =>
    new Set([...all].filter((name) => names.has(name) === (verb === 'Pick')))
  return { required: kept(whole.required), optional: kept(whole.optional) }
}

/** Says what a row has and its type lacks, and the other way round; null if they agree. */
export function misfitOf(
  columns: readonly string[],
  { required, optional }: RowShape,
): string | null {
  const untyped = columns.filter((column) => !required.has(column) && !optional.has(column))
  const missing = [...required].filter((name) => !columns.includes(name))
  const said = [
    untyped.length > 0 && `selects ${untyped.join(', ')}, which the type of its rows lacks`,
    missing.length > 0 && `does not select ${missing.join(', ')}, which the type of its rows has`,
  ].filter((one) => one !== false)
  return said.length === 0 ? null : said.join(' and ')
}

const misfits = new Set<string>()
const compared = new Set<string>()
/** A statement without rows says nothing; it is asked again this often. */
const LOOKS_MAX = 20
const looks = new Map<string, number>()
const FRAME = /(file:\/\/[^\s)]+\/src\/[^\s)]+?\.ts):(\d+:\d+)/g

function compare(columns: readonly string[], stack: string): void {
  for (const [, url, place] of stack.matchAll(FRAME)) {
    const source = readSource(fileURLToPath(url!))
    const type = source.calls.get(place!)
    if (type === undefined) continue
    const shape = shapeOf(type, source)
    if (shape === null) return
    const where = `${source.path}:${place}`
    compared.add(where)
    const misfit = misfitOf(columns, shape)
    if (misfit) misfits.add(`${where} ${misfit}`)
    return
  }
}

function watching(query: Queryable['query']): Queryable['query'] {
  return async <Row>(sql: string, values?: readonly unknown[]) => {
    const times = looks.get(sql) ?? 0
    if (times >= LOOKS_MAX || sql.startsWith('explain')) return query<Row>(sql, values)
    const { stack } = new Error('here')
    const rows = await query<Row>(sql, values)
    const [first] = rows
    looks.set(sql, first ? LOOKS_MAX : times + 1)
    if (first) compare(Object.keys(first), stack!)
    return rows
  }
}

/** The same database, whose statements are compared with the types of their rows. */
export function withRowTypes<Watched extends Db>(db: Watched): Watched {
  return {
    ...db,
    query: watching((sql, values) => db.query(sql, values)),
    transaction: (work) =>
      db.transaction((tx) =>
        work({ ...tx, query: watching((sql, values) => tx.query(sql, values)) }),
      ),
  }
}

/** What was found since the last call, and forgets it. */
export function takeMisfits(): string[] {
  const found = [...misfits]
  misfits.clear()
  return found
}

/** The places whose statements were compared with their types, as `path:line:column`. */
export const placesCompared = (): readonly string[] => [...compared]

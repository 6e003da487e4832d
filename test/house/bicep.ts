// Reads Bicep files as far as the tests need it: what a file declares, what it uses, which modules it calls with which parameters.
// No compiler comes from npm; the grammar is tree-sitter-bicep 1.1.0 (MIT, its license lies next to the file).
import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { Language, type Node, Parser } from 'web-tree-sitter'
import { ROOT } from '../kit/processes.ts'

export interface ModuleCall {
  readonly symbol: string
  /** From the root of the project. */
  readonly path: string
  readonly params: readonly string[]
}

export interface BicepFile {
  readonly path: string
  readonly text: string
  /** Places that the grammar does not understand. */
  readonly faults: readonly string[]
  readonly params: ReadonlyMap<string, { readonly isRequired: boolean }>
  readonly outputs: readonly string[]
  readonly declared: ReadonlySet<string>
  /** Names that the file uses: neither keys, nor properties, nor functions. */
  readonly used: ReadonlySet<string>
  readonly modules: readonly ModuleCall[]
  /** Such as `Microsoft.App/jobs@2025-07-01`. */
  readonly types: readonly string[]
  /** `collection[i]` of resources and modules where `i` is the variable of a lambda: error BCP247 of the compiler. */
  readonly indexedByLambda: readonly string[]
  /** Names, conditions and loops that use what is known only while a deployment runs: errors BCP120, 178 and 182 of the compiler. */
  readonly tooEarly: readonly string[]
  /** `symbol.outputs.name` of modules. */
  readonly outputsUsed: readonly (readonly [symbol: string, output: string])[]
}

export async function readBicep(pattern: string): Promise<BicepFile[]> {
  await Parser.init()
  const parser = new Parser()
  const grammar = join(ROOT, 'test/fixtures/bicep/tree-sitter-bicep.wasm')
  parser.setLanguage(await Language.load(grammar))
  return globSync(pattern, { cwd: ROOT })
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .map((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8')
      return fileOf(path, text, parser.parse(text)!.rootNode)
    })
}

const DECLARATIONS = [
  'parameter_declaration',
  'variable_declaration',
  'module_declaration',
  'resource_declaration',
  'type_declaration',
  'user_defined_function',
]
/** Namespaces of functions. */
const BUILT_IN = ['az', 'sys']

function fileOf(path: string, text: string, root: Node): BicepFile {
  const nodes = [...descendants(root)]
  const of = (type: string) => nodes.filter((node) => node.type === type)
  const nameOf = (node: Node) =>
    node.namedChildren.find((child) => child?.type === 'identifier')!.text
  const locals = nodes.flatMap((node) => {
    if (node.type === 'loop_variable' || node.type === 'loop_enumerator') return [node.text]
    if (node.type === 'parameter') return [nameOf(node)]
    if (node.type === 'import_functionality') return namesIn(node)
    // The grammar takes `one => one.id` for a property of `one => one`.
    const names = node.type === 'lambda_expression' || node.type === 'for_statement'
    const [first] = node.namedChildren
    return names && first?.type === 'identifier' ? [first.text] : []
  })
  const declarations = DECLARATIONS.flatMap(of)
  return {
    path,
    text,
    faults: nodes
      .filter(({ isError, isMissing }) => isError || isMissing)
      .map(
        ({ startPosition: { row, column }, type }) => `${path}:${row + 1}:${column + 1} ${type}`,
      ),
    params: new Map(
      of('parameter_declaration').map((node) => [
        nameOf(node),
        { isRequired: !/=|\?$/.test(node.text.replace(/\{[^}]*\}/s, '').trim()) },
      ]),
    ),
    outputs: of('output_declaration').map(nameOf),
    declared: new Set([...declarations.map(nameOf), ...locals, ...BUILT_IN]),
    used: new Set(nodes.filter(isUse).map((node) => node.text)),
    modules: of('module_declaration').map((node) => moduleOf(path, node, nameOf(node))),
    indexedByLambda: of('lambda_expression').flatMap((lambda) => indexedIn(lambda, of)),
    tooEarly: declarations.flatMap((node) => startValuesOf(node).filter(isKnownLater)),
    types: [...text.matchAll(/'(Microsoft\.[\w./]+@[\w.-]+)'/g)].map(([, type]) => type!),
    outputsUsed: [...text.matchAll(/\b(\w+)(?:\[\w+\])?\.outputs\.(\w+)/g)].map(
      ([, symbol, output]) => [symbol!, output!] as const,
    ),
  }
}

/** The texts that Azure must know before a deployment starts: everything before the object, and its name. */
function startValuesOf(node: Node): string[] {
  if (!/^(?:resource|module)_/.test(node.type)) return []
  const body = [...descendants(node)].find(({ type }) => type === 'object')!
  const name = body.namedChildren.find((child) => child?.namedChildren[0]?.text === 'name')
  return [node.text.slice(0, body.startIndex - node.startIndex), name?.text ?? '']
}

const isKnownLater = (text: string): boolean => /\.(?:outputs|properties)\b/.test(text)

/** The grammar ends a lambda too early, so the whole call that it is passed to is searched. */
function indexedIn(lambda: Node, of: (type: string) => Node[]): string[] {
  const names = [...of('resource_declaration'), ...of('module_declaration')]
    .filter((node) => node.children.some((child) => child?.type === 'for_statement'))
    .map((node) => node.namedChildren.find((child) => child?.type === 'identifier')!.text)
  const variable = /^\w+/.exec(lambda.text)?.[0] ?? ''
  let call: Node | null = lambda
  while (call !== null && call.type !== 'call_expression') call = call.parent
  return names.filter((name) => new RegExp(`\\b${name}\\[${variable}\\b`).test(call?.text ?? ''))
}

function* descendants(node: Node): Generator<Node> {
  yield node
  for (const child of node.children) if (child) yield* descendants(child)
}

function isUse(node: Node): boolean {
  if (node.type !== 'identifier') return false
  const { parent } = node
  if (!parent || /declaration|decorator|type|parameter|user_defined/.test(parent.type)) {
    // `output x string = y` and `param x string = y` use what stands after the sign.
    return parent !== null && /declaration/.test(parent.type) && !isFirst(node, parent)
  }
  if (parent.type === 'object_property') return !isFirst(node, parent)
  if (parent.type === 'call_expression') return !isFirst(node, parent)
  return true
}

const namesIn = (node: Node): string[] =>
  node.namedChildren.flatMap((child) => (child?.type === 'identifier' ? [child.text] : []))

const isFirst = (node: Node, parent: Node): boolean => parent.namedChildren[0]?.id === node.id

function moduleOf(path: string, node: Node, symbol: string): ModuleCall {
  const target = /^module \w+ '([^']+)'/.exec(node.text)![1]!
  const params = [...descendants(node)].find(
    (child) => child.type === 'object_property' && child.namedChildren[0]?.text === 'params',
  )
  const names = params?.namedChildren[1]?.namedChildren.map((one) => one?.namedChildren[0]?.text)
  return {
    symbol,
    path: posix.join(posix.dirname(path), target),
    params: (names ?? []).filter((name) => name !== undefined),
  }
}

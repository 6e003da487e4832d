// Names of functions and of their parameters while typing, from the standard functions and those that workers announce.
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import type { Text } from '@codemirror/state'
import type { FunctionCatalogue } from '../../../../../src/domain/runbook/catalogues.ts'

interface KnownFunction {
  readonly name: string
  readonly description?: string | null | undefined
  readonly parameters: unknown
}

const FUNCTION = /\bfunction:\s*["']?([\w-]*)$/
const KEY = /^(\s*)([\w-]*)$/
const FLOW_KEY = /\bfunction:\s*["']?([\w-]+).*\bparams:\s*\{[^}]*?(?:[{,]\s*)([\w-]*)$/
const STEP_LINES_MAX = 200

export const completionsOf = (catalogues: readonly FunctionCatalogue[]) => {
  const known = new Map<string, KnownFunction>()
  // Those of the program last: they have descriptions.
  const inOrder = [...catalogues].sort(
    (a, b) => Number(a.workerId === null) - Number(b.workerId === null),
  )
  for (const one of inOrder.flatMap(({ functions }) => functions ?? []))
    known.set(one.name.toLowerCase(), one)
  const names = [...known.values()].map(functionOption)
  return (context: CompletionContext): CompletionResult | null => {
    const line = context.state.doc.lineAt(context.pos)
    const before = line.text.slice(0, context.pos - line.from)
    const name = FUNCTION.exec(before)
    if (name) return { from: context.pos - name[1]!.length, options: names, validFor: /^[\w-]*$/ }
    const flow = FLOW_KEY.exec(before)
    if (flow) return parameters(known.get(flow[1]!.toLowerCase()), context.pos - flow[2]!.length)
    const key = KEY.exec(before)
    if (!key || (key[2] === '' && !context.explicit)) return null
    const called = functionAround(context.state.doc, line.number, key[1]!.length)
    return parameters(known.get(called?.toLowerCase() ?? ''), context.pos - key[2]!.length)
  }
}

const functionOption = ({ name, description }: KnownFunction): Completion => ({
  label: name,
  type: 'function',
  ...(description && { info: description }),
})

function parameters(called: KnownFunction | undefined, from: number): CompletionResult | null {
  const { properties = {}, required = [] } = (called?.parameters ?? {}) as {
    readonly properties?: Readonly<Record<string, { readonly description?: string }>>
    readonly required?: readonly string[]
  }
  const options = Object.entries(properties).map(([label, { description }]) => ({
    label,
    apply: `${label}: `,
    type: 'property',
    ...(required.includes(label) && { detail: 'required', boost: 1 }),
    ...(description && { info: description }),
  }))
  return options.length === 0 ? null : { from, options, validFor: /^[\w-]*$/ }
}

/** The function of the step whose `params:` this line belongs to. */
function functionAround(doc: Text, number: number, indent: number): string | null {
  const params = above(doc, number, (text) => indentOf(text) < indent)
  if (params === null || !/^\s*params:\s*$/.test(doc.line(params).text)) return null
  const depth = indentOf(doc.line(params).text)
  for (const step of [-1, 1]) {
    for (let at = params + step; at >= 1 && at <= doc.lines; at += step) {
      const { text } = doc.line(at)
      if (text.trim() === '') continue
      const isFirst = text.trimStart().startsWith('- ') && indentOf(text) + 2 === depth
      if (!isFirst && indentOf(text) < depth) break
      if (step === 1 && isFirst) break
      const found = /^\s*(?:- )?function:\s*["']?([\w-]+)/.exec(text)
      if (found && (isFirst || indentOf(text) === depth)) return found[1]!
      if (isFirst || Math.abs(at - params) > STEP_LINES_MAX) break
    }
  }
  return null
}

function above(doc: Text, number: number, isIt: (text: string) => boolean): number | null {
  for (let at = number - 1; at >= Math.max(1, number - STEP_LINES_MAX); at--) {
    const { text } = doc.line(at)
    if (text.trim() !== '' && isIt(text)) return at
  }
  return null
}

const indentOf = (text: string): number => text.length - text.trimStart().length

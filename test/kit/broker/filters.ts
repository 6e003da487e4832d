// The rules of a subscription as Service Bus evaluates them: correlation filters compare exactly, SQL filters are the part of its
// grammar that subscriptions use. Rules are OR-ed; a message that matches none is dropped.
import type { Message } from 'rhea'

export interface CorrelationFilter {
  readonly properties?: Readonly<Record<string, unknown>>
  readonly messageId?: string
  readonly correlationId?: string
  readonly to?: string
  readonly subject?: string
}

export type RuleFilter =
  | { readonly sql: string }
  | { readonly correlation: CorrelationFilter }
  | { readonly always: boolean }

export type Matches = (message: Message) => boolean

export function matcherOf(filter: RuleFilter): Matches {
  if ('always' in filter) return () => filter.always
  if ('sql' in filter) return parseSql(filter.sql)
  const { properties = {}, ...system } = filter.correlation
  const wanted = Object.entries(system).filter(([, value]) => value !== undefined)
  return (message) =>
    Object.entries(properties).every(([key, value]) => userProperty(message, key) === value) &&
    wanted.every(([key, value]) => systemProperty(message, key) === value)
}

const userProperty = (message: Message, name: string): unknown => {
  const properties: Record<string, unknown> = message.application_properties ?? {}
  return properties[name]
}

const SYSTEM: Readonly<Record<string, (message: Message) => unknown>> = {
  messageid: (message) => message.message_id,
  correlationid: (message) => message.correlation_id,
  to: (message) => message.to,
  label: (message) => message.subject,
  subject: (message) => message.subject,
}

const systemProperty = (message: Message, name: string): unknown =>
  SYSTEM[name.toLowerCase()]?.(message)

type Value = (message: Message) => unknown

const TOKEN = /\s*('(?:[^']|'')*'|\[[^\]]+\]|[A-Za-z_][\w.]*|\d+(?:\.\d+)?|<>|!=|<=|>=|[=<>(),])/gy

/** Throws on what it does not know, so that no test passes by a filter that lets everything through. */
function parseSql(text: string): Matches {
  const parser = new SqlParser(tokensOf(text), text)
  return parser.whole()
}

function tokensOf(text: string): string[] {
  const tokens = [...text.matchAll(TOKEN)].map((match) => match[1]!)
  if (tokens.join('') !== text.replaceAll(/\s+(?=(?:[^']*'[^']*')*[^']*$)/g, ''))
    throw new Error(`unreadable filter: ${text}`)
  return tokens
}

class SqlParser {
  readonly #tokens: string[]
  readonly #text: string
  #at = 0

  constructor(tokens: string[], text: string) {
    this.#tokens = tokens
    this.#text = text
  }

  whole(): Matches {
    const condition = this.#or()
    if (this.#at < this.#tokens.length) throw new Error(`unreadable filter: ${this.#text}`)
    return (message) => condition(message) === true
  }

  #take(word: string): boolean {
    if (this.#tokens[this.#at]?.toUpperCase() !== word) return false
    this.#at += 1
    return true
  }

  #require(word: string): void {
    if (!this.#take(word)) throw new Error(`expected ${word} in filter: ${this.#text}`)
  }

  #or(): Value {
    let left = this.#and()
    while (this.#take('OR')) {
      const [a, b] = [left, this.#and()]
      left = (message) => a(message) === true || b(message) === true
    }
    return left
  }

  #and(): Value {
    let left = this.#not()
    while (this.#take('AND')) {
      const [a, b] = [left, this.#not()]
      left = (message) => a(message) === true && b(message) === true
    }
    return left
  }

  #not(): Value {
    if (!this.#take('NOT')) return this.#comparison()
    const inner = this.#not()
    return (message) => inner(message) === false
  }

  #comparison(): Value {
    if (this.#take('(')) {
      const inner = this.#or()
      this.#require(')')
      return inner
    }
    const left = this.#operand()
    if (this.#take('IS')) {
      const isNot = this.#take('NOT')
      this.#require('NULL')
      return (message) => (left(message) === undefined) !== isNot
    }
    if (this.#take('IN')) return this.#list(left)
    const operator = this.#tokens[this.#at]
    const compare = operator === undefined ? undefined : COMPARE[operator]
    if (!compare) return left
    this.#at += 1
    const right = this.#operand()
    return (message) => {
      const [a, b] = [left(message), right(message)]
      return a === undefined || b === undefined ? undefined : compare(a as string, b as string)
    }
  }

  #list(left: Value): Value {
    this.#require('(')
    const values = [this.#operand()]
    while (this.#take(',')) values.push(this.#operand())
    this.#require(')')
    return (message) => values.some((value) => value(message) === left(message))
  }

  #operand(): Value {
    const token = this.#tokens[this.#at++] ?? ''
    if (token.startsWith("'")) {
      const text = token.slice(1, -1).replaceAll("''", "'")
      return () => text
    }
    if (/^\d/.test(token)) return () => Number(token)
    if (/^(true|false)$/i.test(token)) return () => /^true$/i.test(token)
    const name = token.replaceAll(/^\[|\]$/g, '')
    if (!/^[A-Za-z_]/.test(name)) throw new Error(`unreadable filter: ${this.#text}`)
    if (/^sys\./i.test(name)) return (message) => systemProperty(message, name.slice(4))
    const own = name.replace(/^user\./i, '')
    return (message) => userProperty(message, own)
  }
}

const COMPARE: Readonly<Record<string, (a: string, b: string) => boolean>> = {
  '=': (a, b) => a === b,
  '<>': (a, b) => a !== b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
}

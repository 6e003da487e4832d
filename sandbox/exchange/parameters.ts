// Cmdlet parameters as they arrive over REST: names in any case, list changes, and PowerShell's refusals for unknown parameters
// and unfit values.

import { isAddress, isProxy, proxyOf, withAddress, withoutAddress } from '../addresses.ts'
import type { SandboxCall } from '../call.ts'
import { isGuidText } from '../identity.ts'
import type { Json, JsonObject } from '../json.ts'
import { CmdletRefusal } from '../refusal.ts'

const BINDING = 'System.Management.Automation.ParameterBindingException'

/** Accepted by every cmdlet. */
const COMMON = ['Confirm', 'ErrorAction', 'WarningAction', 'Verbose', 'WhatIf']

export const refuseParameter = (message: string): CmdletRefusal =>
  new CmdletRefusal(400, BINDING, message)

const BASE64 = /^[A-Za-z0-9+/]{4,}={0,2}$/

export interface ListChange {
  readonly whole: readonly string[] | null
  readonly add: readonly string[]
  readonly remove: readonly string[]
}

export class Parameters {
  readonly #values = new Map<string, Json>()

  constructor(given: JsonObject, known: readonly string[]) {
    for (const [name, value] of Object.entries(given)) {
      if (name.includes('@')) continue
      const found = [...known, ...COMMON].find((one) => one.toLowerCase() === name.toLowerCase())
      if (found === undefined)
        throw refuseParameter(`A parameter cannot be found that matches parameter name '${name}'.`)
      this.#values.set(found, value)
    }
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  /** The text, or null when empty or missing. */
  text(name: string): string | null {
    const value = this.#values.get(name) ?? null
    if (value === null || value === '') return null
    if (typeof value === 'object') throw unfit(name, value)
    return String(value)
  }

  required(name: string): string {
    const text = this.text(name)
    if (text !== null) return text
    throw refuseParameter(
      `Cannot bind argument to parameter '${name}' because it is an empty string.`,
    )
  }

  guid(name: string): string | null {
    const text = this.text(name)
    if (text !== null && !isGuidText(text)) throw unfit(name, text)
    return text?.toLowerCase() ?? null
  }

  /** A mail address without its type prefix. */
  address(name: string): string | null {
    const address = this.text(name)?.replace(/^smtp:/i, '') ?? null
    if (address !== null && !isAddress(address))
      throw invalidData(`The address '${address}' is invalid.`)
    return address
  }

  flag(name: string): boolean {
    const value = this.#values.get(name) ?? false
    if (typeof value !== 'boolean') throw unfit(name, value)
    return value
  }

  instant(name: string): string | null {
    const text = this.text(name)
    if (text === null) return null
    if (Number.isNaN(Date.parse(text))) throw unfit(name, text)
    return new Date(text).toISOString()
  }

  /** Bytes with their type, in base64 or as a list of numbers, or as plain base64 text; `forms` says which are understood. */
  bytes(name: string, forms: 'any' | 'typed' | 'text'): Buffer {
    const given = this.#values.get(name) ?? {}
    if (typeof given === 'string' && forms !== 'typed' && BASE64.test(given))
      return Buffer.from(given, 'base64')
    const value = given as JsonObject
    if (typeof given !== 'object' || forms === 'text') throw unfit(name, given)
    const { Data } = value
    if (value['@odata.type'] !== '#Exchange.ByteArrayType') throw unfit(name, value)
    if (typeof Data === 'string') return Buffer.from(Data, 'base64')
    if (Array.isArray(Data)) return Buffer.from(Data.map(Number))
    throw unfit(name, value)
  }

  /** A list, or one value that stands for it. */
  texts(name: string): string[] {
    const value = this.#values.get(name) ?? []
    return (Array.isArray(value) ? value : [value]).map(String)
  }

  /** The addresses after the change: a whole new list, or additions and removals. */
  addresses(name: string, before: readonly string[]): string[] {
    const { whole, add, remove } = this.listChange(name)
    if (whole) return requireUsable(whole.map(proxyOf))
    const removed = remove.map(proxyOf).reduce(withoutAddress, [...before])
    return requireUsable(add.map(proxyOf).reduce(withAddress, removed))
  }

  /** A whole new list, or additions and removals in an annotated hashtable. */
  listChange(name: string): ListChange {
    const value = this.#values.get(name)
    if (Array.isArray(value)) return { whole: value.map(String), add: [], remove: [] }
    const change = value as JsonObject | null
    if (change?.['@odata.type'] !== '#Exchange.GenericHashTable') throw unfit(name, value ?? null)
    const changeOf = (key: string): string[] => {
      const found = Object.entries(change).find(([one]) => one.toLowerCase() === key)?.[1] ?? []
      return (Array.isArray(found) ? found : [found]).map(String)
    }
    return { whole: null, add: changeOf('add'), remove: changeOf('remove') }
  }
}

function requireUsable(proxies: string[]): string[] {
  const wrong = proxies.find((proxy) => !isProxy(proxy))
  if (wrong !== undefined) throw invalidData(`The address '${wrong}' is invalid.`)
  const primaries = proxies.filter((proxy) => proxy.startsWith('SMTP:'))
  if (primaries.length === 1) return proxies
  throw invalidData(
    primaries.length === 0
      ? 'There is no primary SMTP address for this recipient.'
      : 'There are multiple primary SMTP addresses. Only one can be the primary address.',
  )
}

const invalidData = (message: string): CmdletRefusal =>
  new CmdletRefusal(400, 'Microsoft.Exchange.Data.DataValidationException', message)

const unfit = (name: string, value: Json): CmdletRefusal =>
  refuseParameter(
    `Cannot process argument transformation on parameter '${name}'. Cannot convert value "${typeof value === 'object' ? JSON.stringify(value) : value}".`,
  )

/** Exchange's error for an unknown name, in the form that this tenant's servers use. */
export function noObject({ tenant }: SandboxCall, identity: string): CmdletRefusal {
  const message = `The operation couldn't be performed because object '${identity}' couldn't be found on '${tenant.initialDomain}'.`
  const { notFound } = tenant.state.dialect
  return notFound === 'text'
    ? new CmdletRefusal(400, '', message, identity)
    : new CmdletRefusal(Number(notFound), NOT_FOUND, message, identity)
}

const NOT_FOUND = 'Microsoft.Exchange.Configuration.Tasks.ManagementObjectNotFoundException'

// Takes people, tenants and secrets out of recorded answers. The same value gets the same pseudonym everywhere, so that what belongs
// together still does. A text is kept only where its property holds words of Microsoft's; error messages keep their sentences.

import type { Json, JsonObject } from '../../base/text/json.ts'
import { sameName } from '../../base/text/same-name.ts'

/** What a replay fills in again: the object that was asked for, and the tenant's initial domain. */
const IDENTITY = '<identity>'
const ORGANIZATION = '<organization>'

/** Properties with fixed words: types, states, products. */
const WORD_PROPERTIES = new Set(
  [
    'RecipientType',
    'RecipientTypeDetails',
    'PreviousRecipientTypeDetails',
    'GroupType',
    'Status',
    'StatusSummary',
    'Result',
    'MailboxMoveCapability',
    'AutoReplyState',
    'ExternalAudience',
    'AccessRights',
    'AccessControlType',
    'InheritanceType',
    'DomainType',
    'EndpointType',
    'FolderType',
    'ArchiveStatus',
    'ArchiveState',
    'skuPartNumber',
    'type',
    'servicePlanName',
    'provisioningStatus',
    'capabilityStatus',
    'appliesTo',
    'code',
    'userType',
    'creationType',
    'MigrationType',
    'BatchDirection',
  ].map((name) => name.toLowerCase()),
)
const WORDS = /^[\w #.,:()-]{0,100}$/
const MESSAGE_PROPERTIES = /^(?:message|error|errorsummary|errordetail|localizedmessage|target)$/i
/** Addresses of the service itself: they name the tenant and say nothing. */
const DROPPED = /^@odata\.(?:context|nextLink|id|etag)$|stacktrace$/i

const GUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i
const ADDRESS = /^[^\s@<>"']+@[^\s@<>"']+$/
const PREFIXED = /^(smtp|sip|x500|eum|spo|x400):(.*)$/is
const DOMAIN = /^(?:[a-z0-9-]+\.)+[a-z]{2,}$/i
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?$/
const OTHER_TIME = /^[\d/.-]{6,10} \d\d?:\d\d(?::\d\d)?(?: [AP]M)?$/
const SIZE = /^[\d.,]+ [KMGT]?B \([\d.,]+ bytes\)$/

/** Everything in a sentence that can name somebody, in this order. */
const NAMING = [
  String.raw`eyJ[\w-]+\.[\w.-]+`,
  String.raw`(?<!\w)'[^']+'(?!\w)|"[^"]+"|“[^”]+”|‘[^’]+’(?!\w)`,
  String.raw`(?:\/o=|\b(?:CN|OU|DC)=)[^"'|]*`,
  String.raw`[^\s@<>"'|(),;:]+@(?:[\w-]+\.)+\w{2,}`,
  String.raw`\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b[0-9a-f]{32}\b`,
  // Names of .NET types have dots too.
  String.raw`(?<![\w.-])(?!Microsoft\.|System\.)(?:[\w-]+\.)+[a-z]{2,}\b`,
  String.raw`\b(?=[A-Z]*\d)[A-Z0-9]{10,}\b|\b(?!\w*Exception\b)[\w+/=-]{40,}`,
]
const PUBLIC_HOSTS =
  /^(?:aka\.ms|(?:go|learn|docs|graph)\.microsoft\.com|outlook\.office365\.com)$/i
/** Shorter texts occur in words. */
const NAME_CHARS_MIN = 4
/** A folder or group may have such a name; Microsoft's sentences need the word. */
const COMMON_WORDS = new Set(
  'mailbox mail user users object found group recipient default anonymous contact folder domain organization administrator calendar archive server service system migration batch endpoint operation performed because exist test true false null none everyone self'.split(
    ' ',
  ),
)
const TEXT_CHARS_MAX = 2_000

type Kind = 'guid' | 'person' | 'domain' | 'text' | 'token' | 'dn'

export class Pseudonyms {
  readonly #given = new Map<string, string>()
  readonly #counts = new Map<Kind, number>()
  #names: string[] | null = null

  /** `organization` and `tenantId` become the replay's own. */
  constructor({ organization, tenantId }: { organization: string; tenantId: string }) {
    this.#given.set(organization.toLowerCase(), ORGANIZATION)
    this.#given.set(tenantId.toLowerCase(), this.#next('guid'))
  }

  /** First for all answers, then `replaced` for each: a name in a message is known from any of them. */
  learn(body: Json, identity: string | null): void {
    this.#names = []
    this.replaced(body, identity)
    this.#names = null
  }

  replaced(body: Json, identity: string | null): Json {
    return this.#value(body, '', identity)
  }

  #value(value: Json, property: string, identity: string | null): Json {
    if (Array.isArray(value)) return value.map((one) => this.#value(one, property, identity))
    if (typeof value === 'number') return value === 0 ? 0 : 1
    if (typeof value === 'string') return this.#text(value, property, identity)
    if (typeof value !== 'object' || value === null) return value
    const kept = Object.entries(value as JsonObject).filter(([name]) => !DROPPED.test(name))
    return Object.fromEntries(
      kept.map(([name, one]) => [this.#key(name), this.#value(one, name, identity)]),
    )
  }

  /** A property that an app has added has the app's id in its name. */
  #key(name: string): string {
    return name.replaceAll(/[0-9a-f]{32}/gi, (found) => this.#pseudonym('guid', found))
  }

  #text(text: string, property: string, identity: string | null): string {
    if (text === '') return ''
    if (isSame(text, identity)) return IDENTITY
    const name = property.toLowerCase()
    const isWord = WORD_PROPERTIES.has(name) || name.endsWith('@odata.type')
    if ((isWord && WORDS.test(text)) || text.startsWith('NT AUTHORITY\\')) return text
    if (MESSAGE_PROPERTIES.test(name) || name.startsWith('@adminapi.') || property === '')
      return this.sentence(text, identity)
    return this.#named(text)
  }

  /** The pseudonym of a whole value, in the form that it had. */
  #named(text: string): string {
    const prefixed = PREFIXED.exec(text)
    if (prefixed) return `${prefixed[1]}:${this.#named(prefixed[2]!)}`
    if (ISO_TIME.test(text))
      return text.replace(ISO_TIME, (_, fraction = '', zone = '') => {
        return `2020-01-02T03:04:05${fraction.replaceAll(/\d/g, '0')}${zone}`
      })
    if (OTHER_TIME.test(text)) return text.replaceAll(/\d/g, '1')
    if (SIZE.test(text)) return '1 GB (1,073,741,824 bytes)'
    if (GUID.test(text)) return this.#pseudonym('guid', text)
    if (ADDRESS.test(text)) {
      const at = text.lastIndexOf('@')
      return `${this.#pseudonym('person', text.slice(0, at))}@${this.#named(text.slice(at + 1))}`
    }
    if (DOMAIN.test(text)) return this.#pseudonym('domain', text)
    return this.#pseudonym(text.startsWith('/o=') ? 'dn' : 'text', text)
  }

  /** A sentence of Microsoft's without the names in it. */
  sentence(text: string, identity: string | null): string {
    return text.slice(0, TEXT_CHARS_MAX).replaceAll(this.#patternFor(identity), (found) => {
      const quotes = /^(['"“‘])(.*)(['"”’])$/s.exec(found)
      const inner = quotes?.[2] ?? found
      const told = isSame(inner, identity) ? IDENTITY : this.#toldAs(inner)
      return quotes ? `${quotes[1]}${told}${quotes[3]}` : told
    })
  }

  #toldAs(found: string): string {
    const known = this.#given.get(found.toLowerCase())
    if (known !== undefined) return known
    if (PUBLIC_HOSTS.test(found)) return found
    if (found.startsWith('eyJ')) return this.#pseudonym('token', found)
    return this.#named(found)
  }

  /** One pass over names and forms together, so that no pseudonym is replaced again. */
  #patternFor(identity: string | null): RegExp {
    this.#names ??= [...this.#given.keys()]
      .filter((name) => name.length >= NAME_CHARS_MIN && !COMMON_WORDS.has(name))
      .sort((a, b) => b.length - a.length)
    const names = [...(identity === null ? [] : [identity]), ...this.#names]
    const whole = names.map((name) => `(?<!\\w)${escaped(name)}(?!\\w)`)
    return new RegExp([...whole, ...NAMING].join('|'), 'gi')
  }

  #pseudonym(kind: Kind, value: string): string {
    const key = value.toLowerCase()
    const known = this.#given.get(key)
    if (known !== undefined) return known
    const isInitial = kind === 'domain' && key.endsWith('.onmicrosoft.com')
    const made = isInitial
      ? `${this.#next('domain').split('.')[0]}.onmicrosoft.com`
      : this.#next(kind)
    this.#given.set(key, made)
    return made
  }

  #next(kind: Kind): string {
    const number = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, number)
    if (kind === 'guid') return `ffffffff-0000-4000-8000-${String(number).padStart(12, '0')}`
    if (kind === 'domain') return `domain${number}.example`
    return kind === 'dn' ? `/o=dn${number}` : `${kind}${number}`
  }

  /** A name that is still in the text, or null: the last look before it is written. */
  leftIn(text: string): string | null {
    const lower = text.toLowerCase()
    const telling = [...this.#given.keys()].filter((name) => DOMAIN.test(name) || GUID.test(name))
    return telling.find((name) => lower.includes(name)) ?? null
  }
}

const isSame = (text: string, identity: string | null): boolean =>
  identity !== null && sameName(text, identity)

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&')

// Webhooks: posts to hosts that the worker's settings list, and to no other. A runbook or a member's data may choose the address,
// so it is a way out of the network unless it is watched: no redirects, no credentials in the address, https except to this
// machine, and a listed name that leads to the metadata service of the machine is refused when it is looked up.
import { lookup as lookupHost } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { ApiError, type RestAnswer, type Webhooks } from './m365/api.ts'
import { ApiClient, type ClientOptions } from './m365/client.ts'
import { readODataRefusal } from './m365/graph.ts'
import { Gate } from './m365/limits.ts'

export type WebhookOptions = Pick<ClientOptions, 'clock' | 'policy' | 'random' | 'timeout'> & {
  /** `hooks.contoso.com` or `hooks.contoso.com:8443`. */
  readonly hosts: readonly string[]
}

const TIMEOUT_MS = 30_000

/** Where machines ask for their own tokens. No receiver of notifications lives there. */
const FORBIDDEN = new BlockList()
FORBIDDEN.addSubnet('169.254.0.0', 16, 'ipv4')
FORBIDDEN.addSubnet('fe80::', 10, 'ipv6')
FORBIDDEN.addAddress('168.63.129.16', 'ipv4')
FORBIDDEN.addAddress('fd00:ec2::254', 'ipv6')

const isForbidden = (address: string): boolean =>
  FORBIDDEN.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

export function openWebhooks({ hosts, ...options }: WebhookOptions): Webhooks {
  const listed = new Set(hosts.map((host) => host.toLowerCase()))
  const client = new ApiClient({
    ...options,
    service: 'The webhook',
    token: null,
    gate: new Gate(options.clock),
    timeoutMs: TIMEOUT_MS,
    readRefusal: readODataRefusal,
  })
  return {
    post: async (address, body, { signal }): Promise<RestAnswer> => {
      const url = requireListed(address, listed)
      return client.call({
        method: 'POST',
        url: url.href,
        body,
        headers: {},
        signal,
        isIdempotent: false,
        pace: async () => undefined,
        lookup: carefulLookup,
      })
    },
  }
}

function requireListed(address: string, listed: ReadonlySet<string>): URL {
  const url = URL.parse(address)
  const refuse = (reason: string) =>
    new ApiError({
      status: null,
      code: 'HostNotAllowed',
      message: `The webhook is not called: ${reason}. Correct the address, or list its host in MATOOLKIT_WEBHOOK_HOSTS.`,
    })
  if (!url) throw refuse('its address cannot be read')
  if (!listed.has(url.host)) throw refuse(`the host "${url.host}" is not allowed`)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isOwn = ['localhost', '127.0.0.1', '::1'].includes(host)
  if (url.protocol !== 'https:' && !(isOwn && url.protocol === 'http:'))
    throw refuse('its address must begin with https://')
  if (url.username || url.password) throw refuse('its address holds a user or a password')
  if (isIP(host) && isForbidden(host)) throw refuse(`the address ${host} is never allowed`)
  return url
}

/** Looks a host up as Node does, but gives no address that is never allowed: names can be pointed anywhere, at any time. */
const carefulLookup: LookupFunction = (host, options, callback) => {
  lookupHost(host, { ...options, all: true }, (error, found) => {
    const allowed = (found ?? []).filter(({ address }) => !isForbidden(address))
    const [first] = allowed
    if (error) callback(error, '', 0)
    else if (!first)
      callback(new Error(`"${host}" leads to an address that is never allowed`), '', 0)
    else if (options.all) callback(null, allowed)
    else callback(null, first.address, first.family)
  })
}

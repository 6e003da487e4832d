// Webhooks: posts to the hosts listed in the settings and to no other. A runbook or member data may choose the address, so this
// guards the way out of the network: no redirects, no credentials in the URL, https except on this machine, and no listed name
// that resolves to the metadata service.
import { lookup as lookupHost } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { ApiError, type RestResponse, type Webhooks } from './api.ts'
import { ApiClient, type ClientOptions } from './client.ts'
import { readODataRefusal } from './refusal.ts'
import { Throttle } from './throttle.ts'

export type WebhookOptions = Pick<
  ClientOptions,
  'clock' | 'policy' | 'random' | 'timeout' | 'send'
> & {
  /** `hooks.contoso.com` or `hooks.contoso.com:8443`. */
  readonly hosts: readonly string[]
}

const TIMEOUT_MS = 30_000

/** Metadata services, where machines get their tokens. No webhook lives there. */
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
    throttle: new Throttle({ clock: options.clock, name: 'The webhook' }),
    timeoutMs: TIMEOUT_MS,
    readRefusal: readODataRefusal,
  })
  return {
    post: async (address, body, { signal }): Promise<RestResponse> => {
      const url = requireListed(address, listed)
      return client.call({
        method: 'POST',
        url: url.href,
        body,
        headers: {},
        signal,
        isIdempotent: false,
        pace: async () => undefined,
        lookup: guardedLookup,
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
      message: `Refused to call the webhook: ${reason}. Correct the URL, or list its host in MATOOLKIT_WEBHOOK_HOSTS.`,
    })
  if (!url) throw refuse('its URL is not valid')
  if (!listed.has(url.host)) throw refuse(`host "${url.host}" is not listed`)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isOwn = ['localhost', '127.0.0.1', '::1'].includes(host)
  if (url.protocol !== 'https:' && !(isOwn && url.protocol === 'http:'))
    throw refuse('its URL must begin with https://')
  if (url.username || url.password) throw refuse('its URL contains a user or a password')
  if (isIP(host) && isForbidden(host)) throw refuse(`address ${host} is never allowed`)
  return url
}

/** Node's lookup without forbidden addresses: a name can point anywhere, at any time. */
const guardedLookup: LookupFunction = (host, options, callback) => {
  lookupHost(host, { ...options, all: true }, (error, found) => {
    const allowed = (found ?? []).filter(({ address }) => !isForbidden(address))
    const [first] = allowed
    if (error) callback(error, '', 0)
    else if (!first)
      callback(new Error(`"${host}" resolves to an address that is never allowed`), '', 0)
    else if (options.all) callback(null, allowed)
    else callback(null, first.address, first.family)
  })
}

// The proxy of the network, from the variables that other programs read, too.

/**
 * The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name, in either case, as other programs read them; null when there is none. This
 * machine itself is never asked through a proxy.
 */
export function proxyFromEnvironment(): NodeJS.ProcessEnv | null {
  const read = (name: string) => process.env[name.toLowerCase()] ?? process.env[name]
  const https = read('HTTPS_PROXY')
  const http = read('HTTP_PROXY')
  if (!https && !http) return null
  const except = [read('NO_PROXY'), 'localhost,127.0.0.1,::1'].filter(Boolean).join(',')
  return {
    ...(https && { HTTPS_PROXY: https }),
    ...(http && { HTTP_PROXY: http }),
    NO_PROXY: except,
  }
}

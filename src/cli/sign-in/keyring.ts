// The system keyring: Secret Service on Linux (secret-tool), Keychain on macOS (security), DPAPI on Windows (PowerShell). It stores one short
// secret, passed on stdin: other users' processes can read arguments. Any failure counts as no keyring: a locked keyring on a server must
// not block the user.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { windowsFolder } from '../../base/settings/config.ts'
import { inHome, readJsonFile, removeFile, writeJsonFile } from '../connection/home.ts'

export interface Keyring {
  /** Its name for people. */
  readonly name: string
  /** Null if it has no such secret or cannot be used. */
  read(): Promise<string | null>
  /** Whether the secret is stored now. */
  write(secret: string): Promise<boolean>
  remove(): Promise<void>
}

const SERVICE = 'matoolkit'
/** Long enough for a person to type the password of a locked keyring. */
const TIMEOUT_MS = 60_000

/** These characters need no quoting anywhere. */
const WORD = /^[\w-]+$/

export function openKeyring(
  account: string,
  platform: NodeJS.Platform = process.platform,
): Keyring | null {
  if (!WORD.test(account)) throw new RangeError(`"${account}" is not a valid keyring account`)
  if (platform === 'linux') return secretService(account)
  if (platform === 'win32') return dataProtection()
  return platform === 'darwin' ? keychain(account) : null
}

function secretService(account: string): Keyring {
  const attributes = ['service', SERVICE, 'account', account]
  const read = () => runProgram('secret-tool', ['lookup', ...attributes])
  return {
    name: 'the keyring of this system',
    read,
    write: async (secret) => {
      const label = '--label=matoolkit sign-ins'
      await runProgram('secret-tool', ['store', label, ...attributes], secret)
      return (await read()) === secret
    },
    remove: async () => void (await runProgram('secret-tool', ['clear', ...attributes])),
  }
}

function keychain(account: string): Keyring {
  const attributes = ['-s', SERVICE, '-a', account]
  const read = () => runProgram('security', ['find-generic-password', ...attributes, '-w'])
  return {
    name: 'the Keychain',
    read,
    write: async (secret) => {
      if (!WORD.test(secret)) throw new RangeError('the secret needs quotes')
      // It reads commands from stdin but reports no errors, so the secret is read back.
      const command = ['add-generic-password', '-U', ...attributes, '-w', secret].join(' ')
      await runProgram('security', ['-i'], `${command}\n`)
      return (await read()) === secret
    },
    remove: async () =>
      void (await runProgram('security', ['delete-generic-password', ...attributes])),
  }
}

/** For Windows PowerShell, which every Windows has; the text comes on stdin and is plain ASCII. */
const ON_WINDOWS = (result: string): string =>
  [
    "$ErrorActionPreference = 'Stop'",
    'Add-Type -AssemblyName System.Security',
    '$text = [Console]::In.ReadToEnd().Trim()',
    `[Console]::Out.Write(${result})`,
  ].join('; ')
export const PROTECT = ON_WINDOWS(
  "[Convert]::ToBase64String([Security.Cryptography.ProtectedData]::Protect([Text.Encoding]::ASCII.GetBytes($text), $null, 'CurrentUser'))",
)
export const UNPROTECT = ON_WINDOWS(
  "[Text.Encoding]::ASCII.GetString([Security.Cryptography.ProtectedData]::Unprotect([Convert]::FromBase64String($text), $null, 'CurrentUser'))",
)

/** Windows encrypts for the user who is signed in and keeps nothing, so the encrypted secret is a file next to the sign-ins. */
function dataProtection(): Keyring {
  const file = inHome('sign-ins.key')
  const run = (script: string, input: string) =>
    runProgram(powershell(), ['-NoProfile', '-NonInteractive', '-Command', script], input)
  const read = async () => {
    const stored = (readJsonFile(file) as { protected?: unknown } | undefined)?.protected
    return typeof stored === 'string' ? run(UNPROTECT, stored) : null
  }
  return {
    name: 'the data protection of Windows',
    read,
    write: async (secret) => {
      const encrypted = await run(PROTECT, secret)
      if (encrypted === null) return false
      writeJsonFile(file, { protected: encrypted })
      return (await read()) === secret
    },
    remove: async () => removeFile(file),
  }
}

/** By its path: a name alone is looked for in the current folder first. */
const powershell = (): string =>
  join(windowsFolder(), 'System32', 'WindowsPowerShell', 'v1.0', 'powershell.exe')

/** The program's stdout; null if it is missing, fails or prints nothing. */
function runProgram(program: string, args: readonly string[], input = ''): Promise<string | null> {
  return new Promise((resolve) => {
    // Not the option `timeout`: its timer outlived a missing program and kept this process alive for a minute.
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'], signal })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.on('error', () => resolve(null))
    child.on('close', (code) => resolve(code === 0 && output !== '' ? output.trimEnd() : null))
    // The program may end before it has read everything.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
  })
}

// The dashboard's entry: signs the person in, then shows the app.
import './style/theme.css'
import './style/page.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queries } from './api/hooks.ts'
import { App } from './app.tsx'
import { chosenTheme, showTheme } from './layout/theme.ts'

showTheme(chosenTheme())

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    {/* The content security policy refuses style elements. */}
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)

import 'virtual:component-styles';
import '@mantine/notifications/styles.layer.css';
import './app/tokens.css';
import './app/screens.css';
import { setNonce } from 'get-nonce';
import { createRoot } from 'react-dom/client';
import { Screens } from './app/screens.tsx';
import { reloadOnNewBuild } from './app/new-build.ts';

const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
setNonce(nonce); // for the dependencies of the component library
reloadOnNewBuild();
const container = document.getElementById('screens');
if (container) createRoot(container).render(<Screens nonce={nonce} />);

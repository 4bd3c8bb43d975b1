"""The LLM on a server: the same tokens as the loaded one, and what happens when the server does not do its part."""

from __future__ import annotations

import copy
import dataclasses
import json
import threading
import time

import pytest
import torch

from citer_core.config import AppConfig, LlmServer
from citer_core.engine import Engine, Run
from citer_core.errors import ModelFileError, PairError, RouterError, ServerError, SettingError
from citer_core.models import server_client
from citer_core.models.pair import ModelPair
from citer_core.models.remote_lm import RemoteLM
from citer_core.models.server_client import CallCancelledError, ServerClient
from citer_core.models.spec import is_same_pair
from citer_core.routing.batch_decode import decode_batch
from citer_core.routing.decode import decode
from citer_core.routing.routers import training_free_routers
from citer_core.routing.routers.max_probability import MaxProbabilityRouter
from citer_core.routing.scripted import ScriptedRouter
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings
from tests.completions_server import CompletionsServer
from tests.core.conftest import tiny_llama, tiny_qwen2
from tests.core.examples import generated, random_prompts

PROMPTS = [[11, 402, 77], [8], list(range(200, 260)), *random_prompts(4)]


@pytest.fixture
def server(tiny_pair):
    with CompletionsServer(tiny_pair.llm.model, tiny_pair.tokenizer) as server:
        yield server


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr(server_client, "BACKOFF_S", 0.01)


def remote(pair: ModelPair, server: CompletionsServer, **options) -> ModelPair:
    """The pair with its LLM on the server; asks for nothing yet."""
    client = ServerClient(LlmServer(server.url, **{"timeout_s": 20.0, **options}))
    return dataclasses.replace(pair, llm=RemoteLM(client, "tiny-llm", len(pair.tokenizer), 512))


def run(pair, router, prompt, settings, **options):
    events, steps = [], decode(pair, router, prompt, settings, **options)
    while True:
        try:
            events.append(next(steps))
        except StopIteration as stop:
            return events, stop.value


def assert_same(ours, theirs):
    """Equal but for seconds, and for the rounding of probabilities that were fed in another order."""
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert [c.token_id for c in a.llm_top] == [c.token_id for c in b.llm_top]
        assert [c.text for c in a.llm_top] == [c.text for c in b.llm_top]
        assert [c.probability for c in a.llm_top] == pytest.approx([c.probability for c in b.llm_top], abs=1e-4)
        assert a.slm_confidence == pytest.approx(b.slm_confidence, abs=1e-4)
        assert [c.token_id for c in a.slm_top] == [c.token_id for c in b.slm_top]
        blank = dict(slm_s=0.0, router_s=0.0, llm_s=0.0, slm_confidence=0.0, slm_top=(), llm_top=())
        assert dataclasses.replace(a, **blank) == dataclasses.replace(b, **blank)


# --- the same tokens


@pytest.mark.parametrize("prompt", PROMPTS, ids=len)
def test_a_routed_run_is_the_one_with_the_loaded_llm(tiny_pair, server, prompt):
    pattern, settings = [0.1, 0.9, 0.9, 0.1, 0.1, 0.9, 0.9, 0.9, 0.9], DecodeSettings(0.5, 24)
    ours, reason = run(remote(tiny_pair, server), ScriptedRouter(pattern), prompt, settings)
    theirs, expected = run(tiny_pair, ScriptedRouter(pattern), prompt, settings)
    assert reason == expected
    assert_same(ours, theirs)
    assert {event.source for event in ours} == {"slm", "llm"}
    assert all((event.llm_s > 0) == (event.source == "llm") for event in ours)


def test_all_tokens_by_the_server_are_generate(tiny_pair, server):
    """A reference that shares no code with the decode loops."""
    pair = remote(tiny_pair, server)
    for prompt in PROMPTS:
        events, _ = run(pair, MaxProbabilityRouter(), prompt, DecodeSettings(1.0, 20))
        assert [event.token_id for event in events] == generated(tiny_pair.llm, prompt, 20)


@pytest.mark.parametrize("batch_size", [1, 3, 16])
def test_a_batch_is_one_by_one_and_shares_requests(tiny_pair, server, batch_size):
    pair, router, settings = remote(tiny_pair, server), MaxProbabilityRouter(), DecodeSettings(0.6, 20)
    found = list(decode_batch(pair, router, PROMPTS, settings, batch_size=batch_size, with_candidates=True))
    n_requests = len(server.bodies)
    for completion in found:
        expected, reason = run(tiny_pair, router, PROMPTS[completion.index], settings)
        assert completion.finish_reason == reason
        assert_same(completion.events(pair), expected)
    n_tokens = sum(completion.n_llm_tokens for completion in found)
    assert n_tokens == sum(len(body["prompt"]) for body in server.bodies) > 20
    assert n_requests == n_tokens if batch_size == 1 else n_requests < 0.7 * n_tokens


def test_one_connection_serves_a_run(tiny_pair, server):
    run(remote(tiny_pair, server), MaxProbabilityRouter(), PROMPTS[0], DecodeSettings(1.0, 20))
    assert len(server.bodies) == 20
    assert server.n_connections == 1


def test_a_server_that_closes_every_connection_costs_no_attempt(tiny_pair, server, monkeypatch):
    """Idle connections are closed by servers; finding that out is no failure."""
    monkeypatch.setattr(server_client, "N_ATTEMPTS", 1)
    lm = remote(tiny_pair, server).llm
    for _ in range(3):
        assert lm.next_tokens([[1, 2]])[0].token_id == generated(tiny_pair.llm, [1, 2], 1)[0]
        server.drop_connections()
        time.sleep(0.05)
    assert server.n_connections == 3
    server.close_after_answers = True
    assert len({lm.next_tokens([[1, 2]])[0].token_id for _ in range(3)}) == 1


# --- sampling


def test_sampled_draws_repeat_and_differ_from_token_to_token(tiny_pair, server):
    pair, settings = remote(tiny_pair, server), DecodeSettings(1.0, 16, temperature=1.0, top_p=0.9, seed=5)
    first, _ = run(pair, MaxProbabilityRouter(), PROMPTS[0], settings)
    seeds = [body["seed"] for body in server.bodies]
    assert len(set(seeds)) == 16  # one seed for all would draw the same numbers at every token
    assert {(body["temperature"], body["top_p"], body["top_k"]) for body in server.bodies} == {(1.0, 0.9, -1)}
    again, _ = run(pair, MaxProbabilityRouter(), PROMPTS[0], settings)
    other, _ = run(pair, MaxProbabilityRouter(), PROMPTS[0], dataclasses.replace(settings, seed=6))
    texts = [[event.token_id for event in events] for events in (first, again, other)]
    assert texts[0] == texts[1] != texts[2]


def test_a_sampled_batch_is_one_by_one(tiny_pair, server):
    """Rows at different positions have different seeds, so they cannot share a request; rows at the same do."""
    pair, settings = remote(tiny_pair, server), DecodeSettings(0.6, 12, temperature=1.0, seed=3)
    for completion in decode_batch(pair, MaxProbabilityRouter(), PROMPTS, settings, batch_size=4):
        expected, _ = run(pair, MaxProbabilityRouter(), PROMPTS[completion.index], settings)
        assert completion.token_ids == [event.token_id for event in expected]


def test_greedy_requests_leave_nothing_to_the_servers_defaults(tiny_pair, server):
    remote(tiny_pair, server).llm.next_tokens([[1, 2]])
    (body,) = server.bodies
    assert "seed" not in body
    expected = dict(temperature=0.0, top_p=1.0, top_k=-1, min_p=0.0, repetition_penalty=1.0, presence_penalty=0.0)
    assert body.items() >= expected.items()


# --- what routers may ask for


@pytest.mark.parametrize("name", ["disagreement", "bidirectional-entropy"])
def test_routers_that_need_the_llms_logits_are_refused(tiny_pair, server, name):
    pair = remote(tiny_pair, server)
    engine = Engine(pair, training_free_routers())
    assert name not in engine.router_names
    assert name in Engine(tiny_pair, training_free_routers()).router_names
    with pytest.raises(RouterError, match="only gives its token"):
        engine.router(name)
    with pytest.raises(RouterError, match=name):
        run(pair, training_free_routers()[name], [1, 2], DecodeSettings(0.5, 3))
    with pytest.raises(RouterError, match=name):
        list(decode_batch(pair, training_free_routers()[name], [[1, 2]], DecodeSettings(0.5, 3)))
    assert server.bodies == []


def test_work_that_needs_the_weights_says_so(tiny_pair, server):
    with pytest.raises(PairError, match="without --llm-url"):
        _ = remote(tiny_pair, server).local_llm
    assert tiny_pair.local_llm is tiny_pair.llm


# --- a server that does not do its part


def test_a_500_is_asked_again(tiny_pair, server):
    server.fail(500, times=2)
    events, reason = run(remote(tiny_pair, server), MaxProbabilityRouter(), PROMPTS[0], DecodeSettings(1.0, 5))
    assert reason == "length"
    assert [event.token_id for event in events] == generated(tiny_pair.llm, PROMPTS[0], 5)
    assert len(server.bodies) == 7


def test_attempts_have_an_end(tiny_pair, server):
    server.fail(503, times=99)
    with pytest.raises(ServerError, match=r"no answer in 5 attempts.*503: scripted failure"):
        remote(tiny_pair, server).llm.next_tokens([[1]])
    assert len(server.bodies) == 5


@pytest.mark.parametrize(("status", "part"), [(400, "refused a request.*no such option"), (404, "--llm-model")])
def test_a_refusal_is_not_asked_again(tiny_pair, server, status, part):
    server.fail(status, message="no such option")
    with pytest.raises(ServerError, match=part):
        remote(tiny_pair, server).llm.next_tokens([[1]])
    assert len(server.bodies) == 1


def test_a_server_that_hangs_is_given_up_in_time(tiny_pair, server):
    server.delay_s = 3.0
    start = time.monotonic()
    with pytest.raises(ServerError, match="took too long"):
        remote(tiny_pair, server, timeout_s=0.4).llm.next_tokens([[1]])
    assert 0.3 < time.monotonic() - start < 1.5


GOOD = {"index": 0, "token_ids": [5], "logprobs": {"tokens": ["token_id:5"], "top_logprobs": [{"token_id:5": -0.1}]}}


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (b"<html>gateway</html>", "not answer in JSON.*gateway"),
        (b'{"choices": [', "not answer in JSON"),
        (b"[]", "with a completion"),
        (b'{"choices": []}', "answered 0 of 1"),
        (b'{"choices": [{"index": 0, "text": "hello"}]}', "no token id"),
        (json.dumps({"choices": [GOOD | {"token_ids": ["5"]}]}).encode(), "no token id"),
        (json.dumps({"choices": [GOOD | {"token_ids": [5, 6]}]}).encode(), "no token id"),
        (json.dumps({"choices": [GOOD | {"token_ids": [99_999]}]}).encode(), "wrote token 99999"),
        (json.dumps({"choices": [GOOD | {"logprobs": {"top_logprobs": [{"five": -1}]}}]}).encode(), "no token id"),
    ],
)
def test_answers_that_make_no_sense_end_the_run(tiny_pair, server, answer, part):
    server.lie(answer)
    with pytest.raises(ServerError, match=part):
        remote(tiny_pair, server).llm.next_tokens([[1]])


def test_a_token_without_log_probabilities_is_a_token(tiny_pair, server):
    server.lie(json.dumps({"choices": [{"index": 0, "token_ids": [5]}]}).encode())
    (token,) = remote(tiny_pair, server).llm.next_tokens([[1]])
    assert (token.token_id, token.top) == (5, ())


def test_a_server_killed_in_a_run_ends_it_and_keeps_what_was_written(tiny_pair, server):
    problem = problem_from_text("Tom buys 4 books.", "open")
    prompt = tiny_pair.encode(problem.prompt)
    routed = Run(remote(tiny_pair, server), MaxProbabilityRouter(), problem, prompt, DecodeSettings(1.0, 50))
    server.die_after = 7
    with pytest.raises(ServerError, match="start it again"):
        for _ in routed:
            pass
    trace = routed.trace()
    assert trace.finish_reason == "error"
    assert [event.token_id for event in trace.events] == generated(tiny_pair.llm, prompt, 7)
    assert type(trace).from_json(trace.to_json()) == trace


def test_a_server_killed_in_a_batch_leaves_what_was_handed_out(tiny_pair, server):
    server.die_after = 12
    steps = decode_batch(
        remote(tiny_pair, server), MaxProbabilityRouter(), PROMPTS, DecodeSettings(1.0, 5), batch_size=2
    )
    done = [next(steps) for _ in range(4)]  # two at a time, five requests each
    with pytest.raises(ServerError):
        next(steps)
    assert all(c.token_ids == generated(tiny_pair.llm, PROMPTS[c.index], 5) for c in done)


def test_a_server_that_comes_back_is_used_again(tiny_pair, server):
    lm = remote(tiny_pair, server).llm
    before = lm.next_tokens([[1, 2, 3]])[0].token_id
    server.kill()
    with CompletionsServer(tiny_pair.llm.model, tiny_pair.tokenizer, port=server.port) as again:
        assert lm.next_tokens([[1, 2, 3]])[0].token_id == before
        assert len(again.bodies) == 1


# --- cancellation


@pytest.mark.parametrize("how", ["slow answer", "pauses"])
def test_a_run_that_waits_is_cancelled_within_a_second(tiny_pair, server, monkeypatch, how):
    if how == "slow answer":
        server.delay_s = 30.0
    else:
        server.fail(503, times=99)
        monkeypatch.setattr(server_client, "BACKOFF_S", 10.0)
    problem = problem_from_text("Tom buys 4 books.", "open")
    pair = remote(tiny_pair, server, timeout_s=60.0)
    routed = Run(pair, MaxProbabilityRouter(), problem, [1, 2, 3], DecodeSettings(1.0, 50))
    timer = threading.Timer(0.3, routed.cancel)
    timer.start()
    start = time.monotonic()
    assert list(routed) == []
    assert time.monotonic() - start < 1.3
    assert routed.finish_reason == "cancelled"
    timer.join()


def test_a_batch_that_waits_is_cancelled_and_keeps_its_tokens(tiny_pair, server):
    cancelled = threading.Event()
    pair, settings = remote(tiny_pair, server, timeout_s=60.0), DecodeSettings(1.0, 20)
    steps = decode_batch(
        pair, MaxProbabilityRouter(), PROMPTS[:3], settings, batch_size=3, is_cancelled=cancelled.is_set
    )
    original = server.answer

    def slow(body):
        if len(server.bodies) > 4:
            threading.Timer(0.2, cancelled.set).start()
            time.sleep(3.0)
        return original(body)

    server.answer = slow
    start = time.monotonic()
    found = list(steps)
    assert time.monotonic() - start < 2.5
    assert {c.finish_reason for c in found} == {"cancelled"}
    for completion in found:
        assert completion.token_ids == generated(tiny_pair.llm, PROMPTS[completion.index], 4)


def test_a_cancelled_call_closes_its_connection(tiny_pair, server):
    """That is how the server learns that nobody waits for the token."""
    server.delay_s = 1.0
    with pytest.raises(CallCancelledError):
        remote(tiny_pair, server).llm.next_tokens([[1]], is_cancelled=lambda: True)
    deadline = time.monotonic() + 5
    while server._open and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not server._open


# --- the handshake


def connect(server, tokenizer, **options):
    return RemoteLM.connect(LlmServer(server.url, **options), tokenizer)


def test_the_handshake_finds_the_model_and_its_length(tiny_pair, server):
    lm = connect(server, tiny_pair.tokenizer)
    assert (lm.name, lm.max_context, lm.vocab_size) == ("tiny-llm", 512, len(tiny_pair.tokenizer))
    server.max_model_len = None
    assert connect(server, tiny_pair.tokenizer, model="tiny-llm").max_context is None


class Shifted:
    """A tokenizer whose words are the same and whose numbers are not."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer

    def __call__(self, text):
        ids = self._tokenizer(text)["input_ids"]
        return {"input_ids": [i + 1 if i > 700 else i for i in ids]}

    def __len__(self):
        return len(self._tokenizer)

    def decode(self, ids):
        return self._tokenizer.decode(ids)


def test_another_vocabulary_is_refused(tiny_pair, server):
    server.tokenizer = Shifted(tiny_pair.tokenizer)
    with pytest.raises(PairError, match="do not share one vocabulary"):
        connect(server, tiny_pair.tokenizer)


def test_one_special_token_more_is_another_vocabulary(tiny_pair, tokenizer, server):
    other = copy.deepcopy(tokenizer)
    other.add_special_tokens({"additional_special_tokens": ["<|extra|>"]})
    with pytest.raises(PairError, match="do not share one vocabulary"):
        connect(server, other)


def test_a_server_without_token_ids_is_refused(tiny_pair, server):
    texts = 20
    server.lie(json.dumps({"choices": [{"index": i, "text": "a"} for i in range(texts)]}).encode())
    with pytest.raises(ServerError, match="vLLM"):
        connect(server, tiny_pair.tokenizer)


def test_the_model_must_be_named_where_there_are_several(tiny_pair, server):
    server.names = ["small", "large"]
    with pytest.raises(ServerError, match="small, large with --llm-model"):
        connect(server, tiny_pair.tokenizer)
    assert connect(server, tiny_pair.tokenizer, model="large").name == "large"
    with pytest.raises(ServerError, match='does not serve "huge"'):
        connect(server, tiny_pair.tokenizer, model="huge")


def test_a_key_is_sent_and_never_shown(tiny_pair, server):
    server.key = "secret-key"
    with pytest.raises(ServerError, match="CITER_LLM_API_KEY") as refused:
        connect(server, tiny_pair.tokenizer, api_key="wrong-key")
    assert "wrong-key" not in str(refused.value)
    assert connect(server, tiny_pair.tokenizer, api_key="secret-key").name == "tiny-llm"
    assert "secret-key" not in repr(LlmServer(server.url, api_key="secret-key"))


def test_a_url_without_v1_is_explained(tiny_pair, server):
    with pytest.raises(ServerError, match="/v1"):
        RemoteLM.connect(LlmServer(server.url.removesuffix("/v1")), tiny_pair.tokenizer)


def test_nobody_there(tiny_pair, server):
    server.kill()
    with pytest.raises(ServerError, match="nothing listens there") as error:
        connect(server, tiny_pair.tokenizer)
    assert "127.0.0.1" not in str(error.value)  # a page shows it to everybody


@pytest.mark.parametrize(
    "url", ["", "host:8000", "ftp://host/v1", "http://", "http://host:port/v1", "http://me:key@host/v1"]
)
def test_urls_that_are_none(url):
    with pytest.raises(SettingError, match="URL"):
        LlmServer(url)


def test_a_model_or_a_timeout_needs_a_server():
    assert LlmServer.read(None, None, None) is None
    with pytest.raises(SettingError, match="--llm-url"):
        LlmServer.read(None, "name", None)
    with pytest.raises(SettingError, match="above 0"):
        LlmServer.read("http://host/v1/", None, 0.0)
    found = LlmServer.read("http://host/v1/", None, None, {"CITER_LLM_API_KEY": "k"})
    assert found == LlmServer("http://host/v1", "", 60.0, "k")


def test_requests_of_several_threads_do_not_mix(tiny_pair, server):
    lm, answers = remote(tiny_pair, server).llm, {}

    def ask(i):
        answers[i] = [lm.next_tokens([[i, j]])[0].token_id for j in range(1, 6)]

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with torch.inference_mode():
        for i, found in answers.items():
            expected = [int(tiny_pair.llm.model(torch.tensor([[i, j]])).logits[0, -1].argmax()) for j in range(1, 6)]
            assert found == expected
    assert server.n_connections <= 6


# --- a pair from folders


def test_a_pair_whose_llm_folder_holds_its_configuration_only(tiny_pair, tmp_path):
    llm = tiny_llama(2, dtype="float32")
    tiny_qwen2(1).save_pretrained(tmp_path / "slm")
    tiny_pair.tokenizer.save_pretrained(tmp_path / "slm")
    llm.config.save_pretrained(tmp_path / "llm")
    folders = f"{tmp_path / 'slm'},{tmp_path / 'llm'}"
    with CompletionsServer(llm, tiny_pair.tokenizer, name="/models/secret/llama", max_model_len=300) as server:
        engine = Engine.load(folders, llm_server=LlmServer(server.url))
        pair = engine.pair
        expected = tiny_pair.info.llm
        fields = ("n_params", "n_layers", "n_heads", "n_kv_heads", "head_dim", "vocab_size", "tied_embeddings")
        assert all(getattr(pair.info.llm, name) == getattr(expected, name) for name in fields)
        assert pair.max_context == 300
        assert "secret" not in json.dumps(dataclasses.asdict(pair.info))
        slm_revision = tiny_pair.info.revision.partition("-")[0]
        assert pair.info.revision == f"{slm_revision}-server:llama"
        events, _ = run(pair, MaxProbabilityRouter(), [5, 6, 7], DecodeSettings(1.0, 10))
        assert [event.token_id for event in events] == generated(tiny_pair.llm, [5, 6, 7], 10)


def test_an_llm_folder_without_a_configuration_is_refused(tiny_pair, tmp_path, server):
    tiny_qwen2(1).save_pretrained(tmp_path / "slm")
    tiny_pair.tokenizer.save_pretrained(tmp_path / "slm")
    with pytest.raises(ModelFileError, match=r"config\.json"):
        Engine.load(f"{tmp_path / 'slm'},{tmp_path / 'llm'}", llm_server=LlmServer(server.url))


# --- where the page is told


def test_the_page_is_told_by_flags_or_variables():
    env = {"CITER_LLM_URL": "http://a/v1", "CITER_LLM_MODEL": "m", "CITER_LLM_API_KEY": "k"}
    assert AppConfig.read([], {}).llm_server is None
    assert AppConfig.read([], env).llm_server == LlmServer("http://a/v1", "m", api_key="k")
    assert AppConfig.read(["--llm-url", "http://b/v1"], env).llm_server == LlmServer("http://b/v1", "m", api_key="k")
    with pytest.raises(SettingError, match="http://host:8000/v1"):
        AppConfig.read(["--llm-url", "b"], {})
    with pytest.raises(SettingError, match="--llm-url"):
        AppConfig.read([], {"CITER_LLM_MODEL": "m"})


@pytest.mark.parametrize(
    ("recorded", "loaded", "is_same"),
    [
        ("aa-bb", "aa-bb", True),
        ("aa-bb", "aa-cc", False),
        ("aa-bb", "aa-server:llm", True),
        ("cc-bb", "aa-server:llm", False),
        ("aa-server:llm", "aa-bb", False),
    ],
)
def test_a_stored_router_is_compared_with_what_is_known(recorded, loaded, is_same):
    assert is_same_pair(recorded, loaded) == is_same

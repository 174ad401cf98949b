"""Write the suite `models`: products in the layers of well-known networks.

    python tests/benchmarks/model_sizes.py > spaces/sizes/models.csv

The extents follow from the dimensions that the papers and model cards give. Matrices are stored as
frameworks have them, row-major, and named as BLAS calls them, column-major: y = x W' of a layer
whose weights are stored as (outputs, inputs), PyTorch's way, is TN with m = outputs,
n = rows of x and k = inputs. Its gradients are NN (for x) and NT (for W). Weights stored as
(inputs, outputs), as in GPT-2 and TensorFlow, make it NN. Convolutions are products with the
matrix of patches (im2col), pixel by pixel or channel by channel.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """One product.

    Attributes:
        trans: what is done to A and B: `nn`, `nt` or `tn`.
        layer: where it occurs.
        source: a paper's number in arXiv, or a name by which it is found.
    """

    m: int
    n: int
    k: int
    trans: str
    layer: str
    source: str


@dataclass(frozen=True, slots=True)
class Decoder:
    """A language model: the outputs of its layers, by their inputs.

    Attributes:
        keys: outputs of the keys, as many as of the values.
        hidden: of the multi-layer perceptron; `gates` of its first layers lie side by side.
    """

    name: str
    source: str
    width: int
    queries: int
    keys: int
    hidden: int
    gates: int
    words: int

    def call(self, layer: str, tokens: int) -> Call:
        """Return a layer of the model for a number of tokens."""
        m, k = {
            "query key value": (self.queries + 2 * self.keys, self.width),
            "attention output": (self.width, self.queries),
            "gate and up": (self.gates * self.hidden, self.width),
            "up": (self.hidden, self.width),
            "down": (self.width, self.hidden),
            "head": (self.words, self.width),
        }[layer]
        plural = "" if tokens == 1 else "s"
        trans = "nn" if self.name.startswith("GPT-2") and layer != "head" else "tn"
        return Call(
            m, tokens, k, trans, f"{self.name} {layer} of {tokens} token{plural}", self.source
        )


LLAMA_2_7B = Decoder("Llama 2 7B", "arXiv:2307.09288", 4096, 4096, 4096, 11008, 2, 32000)
LLAMA_3_8B = Decoder("Llama 3 8B", "arXiv:2407.21783", 4096, 4096, 1024, 14336, 2, 128256)
LLAMA_3_70B = Decoder("Llama 3 70B", "arXiv:2407.21783", 8192, 8192, 1024, 28672, 2, 128256)
MISTRAL_7B = Decoder("Mistral 7B", "arXiv:2310.06825", 4096, 4096, 1024, 14336, 2, 32000)
QWEN_7B = Decoder("Qwen2.5 7B", "arXiv:2412.15115", 3584, 3584, 512, 18944, 2, 152064)
QWEN_HALF = Decoder("Qwen2.5 0.5B", "arXiv:2412.15115", 896, 896, 128, 4864, 2, 151936)
GEMMA_2B = Decoder("Gemma 2 2B", "arXiv:2408.00118", 2304, 2048, 1024, 9216, 2, 256000)
GPT_2 = Decoder("GPT-2", "Radford et al. 2019", 768, 768, 768, 3072, 1, 50257)
GPT_2_XL = Decoder("GPT-2 XL", "Radford et al. 2019", 1600, 1600, 1600, 6400, 1, 50257)
BERT_LARGE = Decoder("BERT large", "arXiv:1810.04805", 1024, 1024, 1024, 4096, 1, 30522)

QKV, OUT, GATE, UP, DOWN, HEAD = (
    "query key value",
    "attention output",
    "gate and up",
    "up",
    "down",
    "head",
)

DECODERS: tuple[tuple[Decoder, str, tuple[int, ...]], ...] = (
    (LLAMA_2_7B, QKV, (1, 64, 1024)),
    (LLAMA_2_7B, OUT, (1, 64, 4096)),
    (LLAMA_2_7B, GATE, (4, 256)),
    (LLAMA_2_7B, DOWN, (4, 256)),
    (LLAMA_3_8B, QKV, (1, 16, 512, 2048)),
    (LLAMA_3_8B, OUT, (16, 512, 2048)),
    (LLAMA_3_8B, GATE, (1, 16, 128, 2048)),
    (LLAMA_3_8B, DOWN, (1, 16, 128, 2048)),
    (LLAMA_3_8B, HEAD, (1, 16)),
    (MISTRAL_7B, DOWN, (32, 128)),
    (MISTRAL_7B, HEAD, (32,)),
    (LLAMA_3_70B, QKV, (8, 256)),
    (LLAMA_3_70B, OUT, (8, 1024)),
    (LLAMA_3_70B, GATE, (8, 128)),
    (LLAMA_3_70B, DOWN, (8, 512)),
    (QWEN_7B, QKV, (2, 384)),
    (QWEN_7B, GATE, (48,)),
    (QWEN_7B, DOWN, (2, 384)),
    (QWEN_HALF, QKV, (1, 100, 1000)),
    (QWEN_HALF, DOWN, (1, 100, 1000)),
    (QWEN_HALF, HEAD, (1,)),
    (GEMMA_2B, QKV, (7, 300)),
    (GEMMA_2B, UP, (7, 300)),
    (GEMMA_2B, DOWN, (24,)),
    (GPT_2, QKV, (1, 128, 1024)),
    (GPT_2, OUT, (128, 1024)),
    (GPT_2, UP, (16, 1024)),
    (GPT_2, DOWN, (16, 1024)),
    (GPT_2, HEAD, (16,)),
    (GPT_2_XL, QKV, (1, 77, 512)),
    (GPT_2_XL, UP, (512,)),
    (GPT_2_XL, DOWN, (77,)),
    (BERT_LARGE, OUT, (384, 3072)),
    (BERT_LARGE, UP, (384, 3072)),
    (BERT_LARGE, DOWN, (384,)),
)


def language() -> Iterator[Call]:
    """Return language models: from one token, as in a chat, to a batch of long texts."""
    for model, layer, counts in DECODERS:
        for tokens in counts:
            yield model.call(layer, tokens)
    for tokens, width, name, source in (
        (1024, 64, "GPT-2", GPT_2.source),
        (2048, 128, "Llama 3 8B", LLAMA_3_8B.source),
        (333, 64, "BERT large", BERT_LARGE.source),
    ):
        where = f"{name} of {tokens} tokens"
        yield Call(tokens, tokens, width, "tn", f"scores of a head of {where}", source)
        yield Call(width, tokens, tokens, "nn", f"values of a head of {where}", source)


def experts() -> Iterator[Call]:
    """Return mixtures of experts: routers, and experts on their share of the tokens."""
    for name, source, width, hidden, count, loads in (
        ("Mixtral 8x7B", "arXiv:2401.04088", 4096, 14336, 8, (2, 112)),
        ("Qwen3 30B-A3B", "arXiv:2505.09388", 2048, 768, 128, (1, 32, 256)),
        ("DeepSeek-V3", "arXiv:2412.19437", 7168, 2048, 256, (3, 128)),
    ):
        yield Call(count, 512, width, "tn", f"{name} router of 512 tokens", source)
        for rows in loads:
            yield Call(2 * hidden, rows, width, "tn", f"{name} expert up, {rows} rows", source)
            yield Call(width, rows, hidden, "tn", f"{name} expert down, {rows} rows", source)
    where, source = "DeepSeek-V3 latent", "arXiv:2412.19437"
    yield Call(576, 64, 7168, "tn", f"{where} keys and values of 64 tokens", source)
    yield Call(24576, 64, 1536, "tn", f"{where} queries of 64 tokens", source)


def training() -> Iterator[Call]:
    """Return gradients of layers by their inputs (NN) and by their weights (NT)."""
    for name, source, inputs, outputs, rows in (
        ("GPT-2 up", GPT_2.source, 768, 3072, 2048),
        ("Qwen2.5 0.5B down", QWEN_HALF.source, 4864, 896, 1024),
        ("Qwen2.5 0.5B up", QWEN_HALF.source, 896, 4864, 4096),
        ("Llama 3 8B key", LLAMA_3_8B.source, 4096, 1024, 2048),
        ("Llama 3 8B attention output", LLAMA_3_8B.source, 4096, 4096, 1024),
        ("ViT-B/16 query key value", "arXiv:2010.11929", 768, 2304, 1576),
        ("DLRM second top", "arXiv:1906.00091", 1024, 512, 2048),
    ):
        where = f"{name} of {rows} rows, gradient of its"
        yield Call(inputs, rows, outputs, "nn", f"{where} input", source)
        yield Call(inputs, outputs, rows, "nt", f"{where} weights", source)


def pixels_last(
    name: str, source: str, side: int, inputs: int, outputs: int, window: int = 1
) -> Call:
    """Return the product of a convolution of one image (NCHW)."""
    layer = f"{name} {window}x{window} {inputs}-{outputs} at {side}"
    return Call(side * side, outputs, inputs * window**2, "nn", layer, source)


def channels_last(
    name: str,
    source: str,
    side: int,
    inputs: int,
    outputs: int,
    window: int = 1,
    pictures: int = 1,
) -> Call:
    """Return the product of a convolution of several images (NHWC)."""
    several = f", {pictures} pictures" if pictures > 1 else ""
    layer = f"{name} {window}x{window} {inputs}-{outputs} at {side}{several}"
    return Call(outputs, pictures * side * side, inputs * window**2, "nn", layer, source)


def vision() -> Iterator[Call]:
    """Return vision networks."""
    name, source = "ResNet-50", "arXiv:1512.03385"
    for side, inputs, outputs, window in (
        (112, 3, 64, 7),
        (56, 64, 64, 1),
        (56, 64, 64, 3),
        (56, 256, 64, 1),
        (28, 128, 128, 3),
        (28, 512, 128, 1),
        (28, 256, 512, 1),
        (14, 256, 256, 3),
        (14, 256, 1024, 1),
        (14, 1024, 256, 1),
        (7, 512, 512, 3),
        (7, 512, 2048, 1),
        (7, 2048, 512, 1),
    ):
        yield pixels_last(name, source, side, inputs, outputs, window)
    for side, inputs, outputs, window in ((28, 128, 128, 3), (14, 256, 256, 3), (7, 512, 2048, 1)):
        yield channels_last(name, source, side, inputs, outputs, window, 16)
    where = f"{name} 3x3 128-128 at 28, gradient of its"
    yield Call(784, 1152, 128, "nt", f"{where} input", source)
    yield Call(1152, 128, 784, "tn", f"{where} weights", source)
    where = f"{name} 1x1 1024-256 at 14, gradient of its"
    yield Call(196, 1024, 256, "nt", f"{where} input", source)
    yield Call(1024, 256, 196, "tn", f"{where} weights", source)
    yield Call(1000, 32, 2048, "tn", f"{name} classes, 32 pictures", source)
    name, source = "VGG-16", "arXiv:1409.1556"
    for side, inputs, outputs in (
        (224, 3, 64),
        (224, 64, 64),
        (112, 64, 128),
        (28, 256, 512),
        (14, 512, 512),
    ):
        yield pixels_last(name, source, side, inputs, outputs, 3)
    yield Call(4096, 8, 25088, "tn", f"{name} first dense, 8 pictures", source)
    yield Call(4096, 1, 4096, "tn", f"{name} second dense, 1 picture", source)
    source = "arXiv:2010.11929"
    yield Call(768, 196, 768, "nn", "ViT-B/16 patches", source)
    for name, width, patches, pictures, layers in (
        ("ViT-B/16", 768, 197, 1, (QKV, UP, DOWN)),
        ("ViT-L/16", 1024, 197, 4, (OUT, UP)),
        ("ViT-H/14", 1280, 257, 2, (QKV, DOWN)),
    ):
        model = Decoder(name, source, width, width, width, 4 * width, 1, 1000)
        for layer in layers:
            yield model.call(layer, patches * pictures)
    name, source = "ConvNeXt-T", "arXiv:2201.03545"
    yield channels_last(name, source, 56, 3, 96, 4)
    for side, width in ((56, 96), (28, 192), (14, 384), (7, 768)):
        yield Call(4 * width, side * side, width, "tn", f"{name} up at {side}", source)
        yield Call(width, side * side, 4 * width, "tn", f"{name} down at {side}", source)
    yield channels_last(name, source, 14, 192, 384, 2, 8)
    name, source = "EfficientNet-B0", "arXiv:1905.11946"
    for side, inputs, outputs in (
        (112, 16, 96),
        (56, 24, 144),
        (14, 80, 480),
        (14, 672, 112),
        (7, 320, 1280),
    ):
        yield channels_last(name, source, side, inputs, outputs)
    yield Call(20, 16, 480, "nn", f"{name} squeeze, 16 pictures", source)


def recommendation() -> Iterator[Call]:
    """Return recommendation networks."""
    name, source = "DLRM", "arXiv:1906.00091"
    for layer, outputs, inputs, rows in (
        ("first bottom", 512, 13, 2048),
        ("second bottom", 256, 512, 2048),
        ("third bottom", 128, 256, 128),
        ("first top", 1024, 479, 2048),
        ("second top", 1024, 1024, 128),
        ("fourth top", 256, 512, 2048),
        ("last top", 1, 256, 2048),
    ):
        yield Call(outputs, rows, inputs, "tn", f"{name} {layer} of {rows}", source)
    name, source = "Wide & Deep", "arXiv:1606.07792"
    for outputs, inputs in ((1024, 1200), (512, 1024), (256, 512)):
        yield Call(outputs, 256, inputs, "nn", f"{name} {inputs}-{outputs} of 256", source)


def speech() -> Iterator[Call]:
    """Return recurrent networks, and Whisper."""
    source = "arXiv:1512.02595"
    for rows in (4, 24):
        yield Call(5280, rows, 1760, "tn", f"DeepSpeech 2 step of a GRU, {rows} voices", source)
    yield Call(1760, 3000, 2560, "tn", "DeepSpeech 2 inputs of a layer", source)
    yield Call(29, 1500, 1760, "tn", "DeepSpeech 2 letters", source)
    source = "arXiv:1609.08144"
    yield Call(4096, 96, 2048, "nn", "GNMT step of an LSTM, 96 sentences", source)
    source = "arXiv:2212.04356"
    yield Call(1280, 3000, 384, "nn", "Whisper large first convolution", source)
    large = Decoder("Whisper large", source, 1280, 1280, 1280, 5120, 1, 51866)
    small = Decoder("Whisper small", source, 768, 768, 768, 3072, 1, 51865)
    for model, layer, tokens in (
        (large, OUT, 1500),
        (large, UP, 1500),
        (large, DOWN, 5),
        (large, HEAD, 5),
        (small, QKV, 1500),
        (small, UP, 3),
    ):
        yield model.call(layer, tokens)


def diffusion() -> Iterator[Call]:
    """Return networks that generate images."""
    name, source = "Stable Diffusion 1.5", "arXiv:2112.10752"
    for side, inputs, outputs in (
        (64, 4, 320),
        (64, 320, 320),
        (32, 640, 640),
        (16, 1280, 1280),
        (8, 2560, 1280),
    ):
        yield pixels_last(name, source, side, inputs, outputs, 3)
    yield Call(320, 8192, 320, "tn", f"{name} attention at 64, 2 pictures", source)
    yield Call(320, 154, 768, "tn", f"{name} keys of the text, 2 pictures", source)
    yield Call(5120, 1024, 640, "tn", f"{name} up at 32", source)
    yield Call(1280, 256, 5120, "tn", f"{name} down at 16", source)
    yield Call(1280, 2, 320, "tn", f"{name} time, 2 pictures", source)
    name, source = "SDXL", "arXiv:2307.01952"
    yield Call(1280, 1024, 1280, "tn", f"{name} attention at 32", source)
    yield Call(1280, 77, 2048, "tn", f"{name} keys of the text", source)
    yield Call(4096, 4096, 64, "tn", f"{name} scores of a head at 64", source)
    yield pixels_last(name, source, 128, 320, 320, 3)


GROUPS = (language, experts, training, vision, recommendation, speech, diffusion)


def suite() -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield each group's name and rows; a size of several layers appears at the first one."""
    calls = [(group.__name__, call) for group in GROUPS for call in group()]
    merged: dict[tuple[int, int, int], list[tuple[str, Call]]] = {}
    for name, call in calls:
        merged.setdefault((call.m, call.n, call.k), []).append((name, call))
    for group in GROUPS:
        yield (
            group.__name__,
            [
                (
                    *map(str, size),
                    " ".join(dict.fromkeys(call.trans for _, call in alike)),
                    "; ".join(dict.fromkeys(call.layer for _, call in alike)),
                    "; ".join(dict.fromkeys(call.source for _, call in alike)),
                )
                for size, alike in merged.items()
                if alike[0][0] == group.__name__
            ],
        )


def main() -> None:
    """Print the file."""
    groups = list(suite())
    count = sum(len(rows) for _, rows in groups)
    print(f"# {count} products in layers of well-known networks, written by")
    print("# tests/benchmarks/model_sizes.py; trans: as BLAS calls it, column-major.")
    write = csv.writer(sys.stdout, lineterminator="\n")
    write.writerow(("m", "n", "k", "trans", "layer", "source"))
    for name, rows in groups:
        print(f"# {name}")
        write.writerows(rows)


if __name__ == "__main__":
    main()
